import type { RequestDraft, Run } from '../agent/middleware.ts';
import type { AskResult } from '../agent/step/read-reply.ts';
import type { AgentErrorData } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';

/**
 * The last reply of an agent call that reached a limit. `incomplete`: an interrupt or abort ended
 * it; `message` is the part that readers have, if any. `output` is the typed value, and `error`
 * says why the model did not write the answer. Both become part of the result.
 */
export type LimitReply =
  | {
      readonly type: 'complete';
      readonly message: Msg;
      readonly output?: unknown;
      readonly error?: AgentErrorData;
    }
  | { readonly type: 'incomplete'; readonly message?: Msg | undefined };

/** A reply that no interrupt ended. */
export type CompleteReply = Extract<LimitReply, { readonly type: 'complete' }>;

/** A limit that an agent call has reached. */
export interface ReachedLimit {
  /** The request that the limit refused, fitted to the model's context window. */
  readonly refused: RequestDraft;
  /**
   * Sends one extra model request without tools, after the `pre-summary` hooks. The request does
   * not count as an iteration, and its messages are not stored. `adapt` changes the request after
   * the hooks.
   */
  ask(
    messages: readonly Msg[],
    adapt?: (request: ModelRequest) => ModelRequest,
  ): Promise<AskResult>;
}

/**
 * Function that returns the last reply of an agent call at its limit of iterations or tokens. All
 * tool calls have results before the loop calls it.
 */
export type OnLimit = (limit: ReachedLimit, run: Run) => Promise<LimitReply>;
