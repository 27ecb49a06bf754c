import type { Awaitable } from '../event/hook.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest, ToolSchema } from '../model/chat-model.ts';

/** A tool call that stands in a reply's text. */
export interface TextCall {
  readonly name: string;
  /** Missing: none were given, which the tool's schema then judges as `{}`. */
  readonly arguments?: JsonValue;
  /** Why it is made, as the model said beside it; becomes thinking. */
  readonly think?: string;
  /**
   * Whether the model says that the result is the answer: its flag `trust_mode`, which
   * `trustedCalls` looks at.
   */
  readonly returnDirect?: boolean;
}

/** What the text of a reply means. */
export type ParsedReply =
  | { readonly type: 'answer'; readonly text: string }
  /** `text`: what is said before the calls. */
  | { readonly type: 'calls'; readonly calls: readonly TextCall[]; readonly text?: string }
  /** `message`: what the model is told, for it to try again. */
  | { readonly type: 'invalid'; readonly message: string };

export interface ReplyContext {
  /** What the model was asked with, as the agent has it: tool calls and results are blocks. */
  readonly messages: readonly Msg[];
  /** The tools it may call now. */
  readonly tools: readonly ToolSchema[];
  /** What it thought, in `<think>` or beside its text. */
  readonly thinking: string;
  /** The provider's word for why the reply ended: `length` where it was cut off. */
  readonly finishReason: string | undefined;
  /** `value` where JSON or YAML is asked for, as by `jsonMode()`, and such a reply is an answer. */
  readonly replyIs: ModelRequest['replyIs'];
  /** Raised when the call is aborted or interrupted. */
  readonly signal: AbortSignal;
}

/** What a reply's text, without its thinking, means. `fallback` is the default parser. */
export type ParseReply = (
  reply: string,
  context: ReplyContext,
  fallback: (reply: string) => ParsedReply,
) => Awaitable<ParsedReply>;

/** What to tell the model in place of taking its answer; nothing: the answer stands. */
export type Reflect = (
  reply: string,
  context: ReplyContext,
) => Awaitable<string | null | undefined | void>;
