import type { Msg } from '../message/msg.ts';
import type { ChatModel, RunInfo, ToolSchema } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';
import type { RunContext } from './run/run-context.ts';

/** What a request would be made of; all that is optional is there when an agent asks. */
export interface ContextRequest {
  /** System prompt first (where there is one), then what was recalled, then the conversation. */
  readonly messages: readonly Msg[];
  /**
   * The id of the message this call was made with; a policy never drops it. Absent when a call goes
   * on without input.
   */
  readonly promptId?: string | undefined;
  readonly tools: readonly ToolSchema[];
  /**
   * How many of the first messages are not the conversation's: a policy never drops them. Default:
   * the leading system messages.
   */
  readonly head?: number;
  /**
   * What is sent beside these messages: the instruction of an output mode. It is counted, and is
   * not the policy's to send.
   */
  readonly beside?: Msg | undefined;
  /** The model that is asked next. */
  readonly model?: ChatModel;
  readonly sessionId?: string;
  /** Whose request it is; for requests of the policy's own. */
  readonly run?: RunInfo;
  /** Raised when the call is aborted or interrupted. */
  readonly signal?: AbortSignal;
}

export interface FittedContext {
  /** The very same array where nothing went. */
  readonly messages: readonly Msg[];
  /** Messages that went. */
  readonly removed: number;
  /** Estimated tokens of the request, system prompt and tools included, before and after. */
  readonly before: number;
  readonly after: number;
  /**
   * As in the request, where a policy has put a message of its own there. Default: the request's.
   */
  readonly head?: number;
  /** What the policy has spent on requests of its own; the call's usage counts it. */
  readonly usage?: Usage;
  /** No policy after this one runs. */
  readonly done?: boolean;
}

/** A middleware's parts that make a request fit, such as `fitContext()`. */
export interface ContextPolicy {
  readonly name?: string;
  /** See `Middleware`. */
  fit(request: ContextRequest, context?: RunContext): FittedContext | Promise<FittedContext>;
  /** See `Middleware`. */
  count?(request: ContextRequest): number;
}
