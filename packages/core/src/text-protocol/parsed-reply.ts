import type { Awaitable } from '../event/hook.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest, ToolSchema } from '../model/chat-model.ts';

/** A tool call in a reply's text. */
export interface TextCall {
  readonly name: string;
  /** Arguments of the call. If they are missing, the tool's schema checks `{}` instead. */
  readonly arguments?: JsonValue;
  /** Reason for the call, as the model gave it beside the call. It becomes thinking. */
  readonly think?: string;
  /**
   * Whether the model says that the result is the answer, with its flag `trust_mode`.
   * `trustedCalls` reads this field.
   */
  readonly returnDirect?: boolean;
}

/** Meaning of a reply's text. */
export type ParsedReply =
  | { readonly type: 'answer'; readonly text: string }
  /** `text`: the words before the calls. */
  | { readonly type: 'calls'; readonly calls: readonly TextCall[]; readonly text?: string }
  /** `message`: tells the model why it has to try again. */
  | { readonly type: 'invalid'; readonly message: string };

export interface ReplyContext {
  /** Messages of the request in the agent's form: tool calls and results are blocks. */
  readonly messages: readonly Msg[];
  /** Tools that the model may call now. */
  readonly tools: readonly ToolSchema[];
  /** The model's thinking, in `<think>` or beside its text. */
  readonly thinking: string;
  /** The provider's name for why the reply ended: `length` if it was cut off. */
  readonly finishReason: string | undefined;
  /**
   * `value` if the request asks for JSON or YAML, as by `jsonMode()`. Such a reply is an answer.
   */
  readonly replyIs: ModelRequest['replyIs'];
  /** Whether the reply may make several calls. */
  readonly parallel: boolean;
  /** Aborts when the call is aborted or interrupted. */
  readonly signal: AbortSignal;
}

/**
 * Interprets a reply's text, without its thinking. `fallback` is the parser that would read the
 * reply otherwise: the default one, or OxyGent's under `oxygent()`.
 */
export type ParseReply = (
  reply: string,
  context: ReplyContext,
  fallback: (reply: string) => ParsedReply,
) => Awaitable<ParsedReply>;

/** Returns a correction for the model if its answer must not stand, or nothing to accept it. */
export type Reflect = (
  reply: string,
  context: ReplyContext,
) => Awaitable<string | null | undefined | void>;
