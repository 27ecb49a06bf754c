import type { Middleware } from '../agent/middleware.ts';
import { isEnding, type Ending } from '../agent/next.ts';
import { checkNoOptions, checkOptions } from '../error/options/check-options.ts';
import { oneOf, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { checkNewIds } from '../event/agent-input.ts';
import { assistantMessage, type Msg } from '../message/msg.ts';
import { isOperated, metadataOf } from '../message/metadata.ts';

/** Who writes in the assistant's place, and whether the assistant stays silent afterwards. */
export interface OperatorMessageOptions {
  /** Name of the person, which users and the model see. */
  readonly name: string;
  /**
   * What the message does. `join` and `say`: the agent stays silent from now on. `leave`: the agent
   * answers again. Default: `say`.
   */
  readonly action?: 'join' | 'say' | 'leave';
  /** Default: a new id. */
  readonly id?: string;
}

/**
 * Returns a message of a person who answers in the assistant's place. It has the role `assistant`,
 * the person's name, and `operator` in its metadata. Pass it to `agent.call()` or
 * `agent.observe()`, or inject it into a running agent call. Throws `CONFIGURATION` for an option
 * of the wrong kind.
 */
export function operatorMessage(text: string, options: OperatorMessageOptions): Msg {
  checkOptions('operatorMessage()', options, operatorMessageOptions);
  const { name, action = 'say', id } = options;
  const metadata = { operator: { name, action } };
  return assistantMessage(text, { name, metadata, ...(id && { id }) });
}

const operatorMessageOptions: OptionTable<OperatorMessageOptions> = {
  name: string,
  action: optional(oneOf('join', 'say', 'leave')),
  id: optional(string),
};

/**
 * Lets a person answer in the assistant's place, for an agent's `use` list. From an
 * `operatorMessage()` on, agent calls store their input and end as `suspended`, without a model
 * request. Open tool calls stay open until somebody decides about them. After a message with the
 * action `leave`, the agent answers again, at once if the user wrote something that nobody
 * answered. The session log has the messages, so this also holds in a new process.
 *
 * @example
 * const agent = new ReActAgent({ name: 'assistant', model, use: [operator()] });
 * await agent.call(operatorMessage('Hello, this is Ann.', { name: 'Ann', action: 'join' }));
 */
export function operator(): Middleware;
export function operator(...args: readonly unknown[]): Middleware {
  checkNoOptions('operator()', args, 'The options of a message belong to operatorMessage().');
  return {
    name: 'operator',
    wrapSettle: async (input, next, run) => {
      const hasOperatorMessage = input.messages.some((message) => metadataOf(message).operator);
      const { open: openCalls } = run.calls;
      if (hasOperatorMessage && openCalls.length && !input.decisions.length) {
        checkNewIds(input.messages, run.messages);
        // A message of the user would need decisions about these tool calls first.
        await run.log.edit({ append: input.messages });
        return openCalls.every(({ state }) => state.decision) ? { to: 'tools' } : suspended;
      }
      const outcome = await next(input);
      // Decided tool calls run. `wrapRequest` keeps the agent silent afterwards.
      if (!isEnding(outcome) && outcome.to === 'tools') return outcome;
      const { messages } = run;
      const isDone = hasOperatorMessage && !isEnding(outcome) && !isUnanswered(messages);
      return isDone || isOperated(messages) ? suspended : outcome;
    },
    wrapRequest: async (draft, next, run) => {
      if (isOperated(run.messages)) return suspended;
      // Some models would continue a last message of the assistant.
      const isLast = metadataOf(draft.messages.at(-1) ?? {}).operator;
      return next(isLast ? { ...draft, messages: draft.messages.slice(0, -1) } : draft);
    },
  };
}

const suspended: Ending = { kind: 'unanswered', reason: 'suspended' };

/**
 * Returns whether the user wrote something after the last answer. Messages of `leave` do not count.
 */
function isUnanswered(messages: readonly Msg[]): boolean {
  const last = messages.findLast((message) => metadataOf(message).operator?.action !== 'leave');
  return last?.role === 'user' || last?.role === 'tool';
}
