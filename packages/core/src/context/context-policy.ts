import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model.ts';

export interface ContextRequest {
  /** System prompt first (where there is one), then the conversation. */
  readonly messages: readonly Msg[];
  /** The id of the message this call was made with; a policy never drops it. Absent when a call goes on without input. */
  readonly promptId?: string | undefined;
  readonly tools: readonly ToolSchema[];
}

export interface FittedContext {
  readonly messages: readonly Msg[];
  /** Messages that went. */
  readonly removed: number;
  /** Estimated tokens of the request, system prompt and tools included, before and after. */
  readonly before: number;
  readonly after: number;
}

/** Makes a request fit the model's window. Pure over its input; keeps a tool call and its results together. */
export type ContextPolicy = (request: ContextRequest) => FittedContext | Promise<FittedContext>;
