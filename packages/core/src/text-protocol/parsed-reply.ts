import type { Awaitable } from '../event/hook.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import { offersTools, type ModelRequest, type ToolSchema } from '../model/chat-model.ts';

/** Tool call that a model wrote as text. */
export interface TextCall {
  readonly name: string;
  /** Arguments of the tool call. Default: `{}`. */
  readonly arguments?: JsonValue;
  /**
   * Reason that the model gave for the tool call. The reason becomes part of the model's thinking.
   */
  readonly think?: string;
  /**
   * Whether the model marked the tool's result as the answer, with its flag `trust_mode`.
   * `trustedCalls` reads this field.
   */
  readonly returnDirect?: boolean;
}

/** What the text of a reply means: an answer, tool calls, or neither. */
export type ParsedReply =
  | { readonly type: 'answer'; readonly text: string }
  /** `text`: the prose before the tool calls. */
  | { readonly type: 'calls'; readonly calls: readonly TextCall[]; readonly text?: string }
  /** `message`: tells the model why it has to reply again. */
  | { readonly type: 'invalid'; readonly message: string };

/** What `parse` and `check` know about a reply beside its text. */
export interface ReplyContext {
  /** Messages of the request in the agent's form: tool calls and results are blocks. */
  readonly messages: readonly Msg[];
  /** Tools that the model may call in this reply. */
  readonly tools: readonly ToolSchema[];
  /** Thinking of the model, from `<think>` parts and from separate thinking blocks. */
  readonly thinking: string;
  /** Reason why the reply ended, in the provider's words, such as `stop` or `length`. */
  readonly finishReason: string | undefined;
  /**
   * `value` if the request asks for JSON or YAML, as `jsonMode()` does. JSON in such a reply is an
   * answer.
   */
  readonly replyFor: ModelRequest['replyFor'];
  /** Whether the reply may make several tool calls. */
  readonly parallel: boolean;
  /** Signal that aborts when the agent call is aborted or interrupted. */
  readonly signal: AbortSignal;
}

/** Returns the context of a reply to a request. */
export function replyContext(
  request: ModelRequest,
  fields: Omit<ReplyContext, 'messages' | 'tools' | 'replyFor'> & Partial<ReplyContext>,
): ReplyContext {
  const { messages, replyFor } = request;
  return { messages, tools: offersTools(request) ? request.tools : [], replyFor, ...fields };
}

/**
 * Parser of a reply's text, without the thinking. `fallback` is the parser that is used without a
 * `parse` option: `parseToolCalls`, or `parseOxygent` with the preset `oxygent()`.
 */
export type ReplyParser = (
  reply: string,
  context: ReplyContext,
  fallback: (reply: string) => ParsedReply,
) => Awaitable<ParsedReply>;

/** Check of an answer. Returns a correction for the model, or nothing to accept the answer. */
export type CheckAnswer = (
  reply: string,
  context: ReplyContext,
) => Awaitable<string | null | undefined | void>;
