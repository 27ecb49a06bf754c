import type { EventData } from '../../event/agent-event.ts';
import type { ModifiableEvent } from '../../event/hook.ts';
import type { LogNote } from '../../memory/log/log-record.ts';
import type { Msg, ToolResult, ToolUse } from '../../message/msg.ts';
import type { CustomReason, Ending, Next } from '../next.ts';
import type { LogEdit } from '../run/logged-conversation.ts';
import type { RevisedEvent } from '../step/jump.ts';
import type { EarlyRun } from './early-run.ts';

/**
 * The run: what middleware and hooks know about an agent call, and what they may do to it. From
 * `wrapSettle` on, it is the last argument of each wrapper and hook. Before, they get an
 * `EarlyRun`. `mapEvent` gets a `RunView`.
 *
 * Its functions also work in the tools of a middleware. All of them work alone, too:
 * `const { edit } = run.log`.
 */
export interface Run extends EarlyRun {
  readonly log: EarlyRun['log'] & {
    /**
     * Changes the conversation, in the log and in later model requests. Removes and appends in one
     * write if the memory can. A tool call that the change removes does not run, and gets no
     * result. Rejects with `INVALID_INPUT` if an id in `append` is in use.
     */
    edit(change: LogEdit): Promise<void>;
  };
  readonly prompt: EarlyRun['prompt'] & {
    /**
     * Adds messages to all later model requests of this run, at the end of the conversation so far.
     * They are not stored.
     */
    includeLast(messages: readonly Msg[]): void;
  };
  readonly calls: EarlyRun['calls'] & {
    /**
     * Ends an open tool call with this result, after the `post-acting` hooks. A call that has a
     * result, or gets one now, keeps that one.
     */
    close(toolUse: ToolUse, result: ToolResult): Promise<void>;
    /**
     * Adds notes about tool calls to the log, such as a decision. With `write`, stores them before
     * it resolves.
     */
    note(notes: readonly LogNote[], options?: { readonly write?: boolean }): Promise<void>;
  };
  readonly events: EarlyRun['events'] & {
    /**
     * Passes an event through the hooks, then to the readers, and carries out what the hooks ask
     * for. If the hooks change its message, readers get a `step-reset` with the new message first.
     * Hooks at `pre-call` and `pre-acting` may reject what only the loop can reject, so only the
     * loop sends these. A wrapper returns the `next` of the result, if there is one.
     */
    revise<K extends Exclude<ModifiableEvent, 'pre-call' | 'pre-acting'>>(
      type: K,
      data: EventData<K>,
    ): Promise<RevisedEvent<K>>;
  };
  readonly ending: EarlyRun['ending'] & {
    /**
     * Returns the end of a run that was interrupted, paused or aborted, for a wrapper to return.
     * Stores `partial`, the part of a reply that readers have. Throws `CONFIGURATION` unless
     * `stopped` is set.
     */
    whenStopped(partial?: Msg): Promise<Ending>;
    /**
     * Passes a message that no model wrote through `wrapReply`, as if it were a reply. A wrapper
     * returns the result. In `wrapReply`, call it only for a reply of the model, which has a
     * `request`. Rejects with `CONFIGURATION` while another such message passes.
     */
    reply(message: Msg, reason: CustomReason): Promise<Next>;
  };
}
