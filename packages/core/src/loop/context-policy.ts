import type { Msg } from '../message/msg.ts';
import type { ChatModel, RunInfo, ToolSchema } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';
import type { RunContext } from './run/run-context.ts';

/**
 * The parts of the next request. An agent sets all optional fields; other callers may leave them
 * out.
 */
export interface ContextRequest {
  /** The system prompt if there is one, then recalled messages, then the conversation. */
  readonly messages: readonly Msg[];
  /**
   * Id of the message that began this call; a policy never drops it. Absent if the call has no
   * input.
   */
  readonly promptId?: string | undefined;
  readonly tools: readonly ToolSchema[];
  /**
   * Number of leading messages outside the conversation; a policy never drops them. Default: the
   * leading system messages.
   */
  readonly head?: number;
  /**
   * The instruction of an output mode. The loop sends it beside these messages, so policies count
   * it but do not send it.
   */
  readonly beside?: Msg | undefined;
  /** The model of the next request. */
  readonly model?: ChatModel;
  readonly sessionId?: string;
  /** The run of the request, for a policy's own requests. */
  readonly run?: RunInfo;
  /** Raised when the call is aborted or interrupted. */
  readonly signal?: AbortSignal;
}

export interface FittedContext {
  /** The fitted messages: the same array if nothing was removed. */
  readonly messages: readonly Msg[];
  /** Number of removed messages. */
  readonly removed: number;
  /** Estimated tokens of the request, system prompt and tools included, before and after. */
  readonly before: number;
  readonly after: number;
  /** The new `head`, if the policy added leading messages. Default: the request's. */
  readonly head?: number;
  /** Usage of the policy's own requests. It counts toward the call's usage. */
  readonly usage?: Usage;
  /** Whether to skip the remaining policies. */
  readonly done?: boolean;
}

/** The parts of a middleware that fit requests into the model's window, such as `fitContext()`. */
export interface ContextPolicy {
  readonly name?: string;
  /** See `Middleware`. */
  fit(request: ContextRequest, context?: RunContext): FittedContext | Promise<FittedContext>;
  /** See `Middleware`. */
  count?(request: ContextRequest): number;
}
