import type { Hook } from '../hook/hook.ts';
import type { Msg } from '../message/msg.ts';
import type { Tool } from '../tool/tool.ts';

export interface RecallContext {
  readonly sessionId: string;
  /** Raised when the call is aborted or interrupted. */
  readonly signal: AbortSignal;
}

/** What a feature brings to an agent as one piece; every part is optional. */
export interface Extension {
  readonly hooks?: readonly Hook[];
  readonly tools?: readonly Tool[];
  /**
   * Once a call, before its first request: messages that stand between the system prompt and the history in each of its requests
   * and are never stored. `input` is what the call was made with. A rejection fails the call.
   */
  recall?(input: readonly Msg[], context: RecallContext): Promise<readonly Msg[]>;
}
