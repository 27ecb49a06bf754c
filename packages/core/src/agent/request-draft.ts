import type { Msg } from '../message/msg.ts';
import type { GenerateOptions, ToolSchema } from '../model/chat-model.ts';

/** Reason of a run that a limit ends. */
export type LimitReason = 'limit' | 'max-iterations';

/** The next model request while `wrapRequest` of the middleware prepares it. */
export interface RequestDraft {
  /** System prompt, other messages outside the conversation, then the conversation. */
  readonly messages: readonly Msg[];
  /**
   * Number of messages at the beginning that stay, such as the system prompt. A wrapper that adds
   * messages there counts them, too.
   */
  readonly fixedCount: number;
  readonly tools: readonly ToolSchema[];
  readonly options: GenerateOptions;
  /**
   * Whether a hook or a wrapper asked for this request. Middleware that answers with the results of
   * tools, without the model, then does not.
   */
  readonly mustAsk: boolean;
  /**
   * Messages that outer wrappers add to the request after `next`, such as the list of tasks. Inner
   * wrappers count their tokens, so that the request still fits, but do not add them.
   */
  readonly addedLater: readonly Msg[];
  /**
   * Reason to end the agent call instead of asking the model. Inner wrappers still prepare the
   * messages, for a last answer.
   */
  readonly limit?: LimitReason | undefined;
}
