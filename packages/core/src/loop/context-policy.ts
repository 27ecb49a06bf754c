import type { AgentError } from '../error/agent-error.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel, RunInfo, ToolSchema } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';
import type { RunContext } from './run/run-context.ts';

/**
 * The next model request, before a context policy fits it. The loop sets all optional fields. Other
 * callers may omit them.
 */
export interface ContextRequest {
  /** The system prompt if there is one, then recalled messages, then the conversation. */
  readonly messages: readonly Msg[];
  /**
   * Id of the newest user message. A policy must keep this message. Absent if there is no user
   * message.
   */
  readonly promptId?: string | undefined;
  readonly tools: readonly ToolSchema[];
  /**
   * Number of messages before the conversation, such as the system prompt. A policy must keep these
   * messages. Default: the number of leading system messages.
   */
  readonly head?: number;
  /**
   * Instruction of the output mode. The loop adds it to the request later. Policies count its
   * tokens but do not return it.
   */
  readonly beside?: Msg | undefined;
  /** The model of the next request. */
  readonly model?: ChatModel;
  readonly sessionId?: string;
  /** Run of this request. A policy passes it to its own model requests. */
  readonly run?: RunInfo;
  /** Signal that aborts when the agent call is aborted or interrupted. */
  readonly signal?: AbortSignal;
}

export interface FittedContext {
  /** The fitted messages. The same array if nothing was removed. */
  readonly messages: readonly Msg[];
  /** Number of removed messages. */
  readonly removed: number;
  /** Estimated tokens of the request before fitting, including system prompt and tools. */
  readonly before: number;
  /** Estimated tokens of the request after fitting, including system prompt and tools. */
  readonly after: number;
  /**
   * The new `head`, if the policy added messages before the conversation. Default: the `head` of
   * the request.
   */
  readonly head?: number;
  /** Usage of the policy's own model requests. The loop adds it to the usage of the agent call. */
  readonly usage?: Usage | undefined;
  /** Error that the policy worked around, such as that of a summary. Events and results have it. */
  readonly error?: AgentError | undefined;
  /** Whether to skip the remaining policies. */
  readonly done?: boolean;
}

/**
 * The part of a middleware that fits model requests into the context window. Example:
 * `fitContext()`.
 */
export interface ContextPolicy {
  readonly name?: string;
  /** Same as `Middleware.fit`. */
  fit(request: ContextRequest, context?: RunContext): FittedContext | Promise<FittedContext>;
  /** Same as `Middleware.count`. */
  count?(request: ContextRequest): number;
}
