import type { Middleware } from '../../../agent/middleware.ts';
import type { RunContext } from '../../../agent/run-context.ts';
import { checkFields } from '../../../error/check-fields.ts';
import type { Awaitable } from '../../../event/hook.ts';
import type { Msg } from '../../../message/msg.ts';
import { isOwnInput, judgedWith } from '../claims.ts';
import { decisionClaims } from './decision-claims.ts';

/**
 * Returns the messages that may pass, changed or not. A changed message keeps its id. Throw
 * `GUARD_REJECTED` to reject the input; any other exception makes the agent call fail.
 */
export type InputCheck = (input: readonly Msg[], context: RunContext) => Awaitable<readonly Msg[]>;

/**
 * Creates a guard from your own check of the input. `check` gets all that a client sent and the
 * model will read in one list, before anything is stored: texts of decisions, then messages. A call
 * that only continues gives an empty list. Messages that join a running agent call are checked on
 * their own. The first guard of `use` checks first, and the next one gets its result.
 *
 * @example
 * const noCode = guardInput('noCode', (input) => {
 *   if (!input.some((message) => textOf(message).includes('```'))) return input;
 *   throw new AgentError('GUARD_REJECTED', 'Code is not allowed here.');
 * });
 */
export function guardInput(
  name: string,
  check: InputCheck,
): Middleware & Required<Pick<Middleware, 'name' | 'wrapInput'>> {
  checkFields('CONFIGURATION', 'guardInput()', { name, check }, 'name:string check:function');
  return {
    name,
    wrapInput: (next) => async (input, context) => {
      const decisions = [...input.decisions];
      const claims = decisionClaims(decisions);
      // A verdict during the run has nothing to judge if it has no text.
      if (!isOwnInput(context) && !claims.length && !input.messages.length)
        return next(input, context);
      const { messages } = await judgedWith(claims, input, async (all) => {
        const judged = await check(all.messages, context);
        context.signal.throwIfAborted();
        checkFields('CONFIGURATION', `The guard "${name}"`, { result: judged }, 'result:array');
        return { ...all, messages: judged };
      });
      return next({ messages, decisions }, context);
    },
  };
}
