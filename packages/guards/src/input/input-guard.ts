import {
  type Middleware,
  AgentError,
  type Awaitable,
  type EarlyRun,
  type Msg,
} from '@isoloop/core';
import {
  checkFields,
  checkOptions,
  func,
  optional,
  string,
  type OptionTable,
} from '@isoloop/core/options';
import { isRecord, parseMessages } from '@isoloop/core/message';
import { abortable } from '@isoloop/core/wait';
import { checkWithClientTexts } from '@isoloop/core/host';
import { decisionTexts } from './decision-texts.ts';
import {
  guardCategories,
  guardOptions,
  isGuardRejection,
  rejectionError,
  reporter,
  type GuardOptions,
  type Rejection,
} from '../rejection.ts';

/**
 * Your check of the input. It returns the messages that may pass, changed or not, or a rejection. A
 * changed message keeps its id. The input is empty if an agent call resumes from the log.
 */
export type InputCheck = (
  input: readonly Msg[],
  run: EarlyRun,
) => Awaitable<readonly Msg[] | Rejection>;

type CheckResult = readonly Msg[] | Rejection;

/** Options of a guard of the input. */
export interface InputGuardOptions extends GuardOptions {
  /** Name of the guard, which must be unique in `use`. Default: the name of the function. */
  readonly name?: string;
}

export const inputGuardOptions: OptionTable<InputGuardOptions> = {
  name: optional(string),
  ...guardOptions,
};

/** Middleware that checks the input. */
export type InputGuard = Middleware & Required<Pick<Middleware, 'name' | 'wrapInput'>>;

/**
 * Creates a guard from your own check of the input. `check` gets all that a client sent and the
 * model will read in one list, before anything is stored: texts of decisions, then messages. A call
 * that only continues gives an empty list. Messages that join a running agent call are checked on
 * their own. The first guard of `use` checks first, and the next one gets its result.
 *
 * A rejection ends the agent call with reason `rejected` and `error.code` `GUARD_REJECTED`. The
 * `details` of the error have the `category`, and the guard's name as `stage`. An exception or an
 * invalid return value counts as a rejection with the category `SYSTEM_ERROR`. `check` may also
 * throw an `AgentError` with the code `GUARD_REJECTED`. Source: Arc Reactor, `GuardPipeline`.
 *
 * @example
 * const noCode = inputGuard('noCode', (input) =>
 *   input.some((message) => textOf(message).includes('```'))
 *     ? { category: 'INVALID_INPUT', message: 'Code is not allowed here.' }
 *     : input,
 * );
 */
export function inputGuard(
  name: string,
  check: InputCheck,
  options: GuardOptions = {},
): InputGuard {
  checkFields('inputGuard()', { name, check }, { name: string, check: func });
  checkOptions('inputGuard()', options, guardOptions);
  return inputGuardOf(name, check, options);
}

/** Works as `inputGuard`, without a check of its arguments. `options.name` replaces the name. */
export function inputGuardOf(
  defaultName: string,
  check: InputCheck,
  options: InputGuardOptions,
): InputGuard {
  const { name = defaultName } = options;
  const report = reporter(options);
  const checkedInput = async (input: readonly Msg[], run: EarlyRun) => {
    const { signal } = run;
    let result: CheckResult = { category: 'SYSTEM_ERROR' };
    try {
      const checking = (async () => check(input, run))();
      result = validResult(name, input, await abortable(checking, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (AgentError.is(error) && error.code === 'GUARD_REJECTED') throw error;
      report(error, name);
    }
    signal.throwIfAborted();
    if ('category' in result) throw rejectionError(name, result, options);
    return result;
  };
  return {
    name,
    wrapInput: async (input, next, run) => {
      const decisions = [...input.decisions];
      const clientTexts = decisionTexts(decisions);
      // A decision during the run has nothing to check if it has no text.
      if (input.arrivedDuringRun && !clientTexts.length && !input.messages.length)
        return next(input);
      const { messages } = await checkWithClientTexts(clientTexts, input, async (fullInput) => ({
        ...fullInput,
        messages: await checkedInput(fullInput.messages, run),
      }));
      return next({ ...input, messages, decisions });
    },
  };
}

/** Returns what a check returned. Throws if that is neither a rejection nor messages. */
function validResult(name: string, input: readonly Msg[], result: unknown): CheckResult {
  if (result === input || isGuardRejection(result)) return result as CheckResult;
  if (isRecord(result)) {
    const problem = `The guard "${name}" returned an object that is no rejection`;
    throw new AgentError(
      'CONFIGURATION',
      `${problem}: category must be one of ${guardCategories.join(', ')}.`,
    );
  }
  const messages = parseMessages(result);
  // Without messages, the agent call would continue from the log.
  if (messages.length || !input.length) return messages;
  throw new AgentError('INVALID_MESSAGE', `The guard "${name}" removed the whole input.`);
}
