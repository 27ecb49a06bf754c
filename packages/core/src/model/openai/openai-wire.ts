import type { JsonObject } from '../../message/json.ts';

/**
 * Chat-completions chunk as providers send it. Any field may be missing or null, contrary to the
 * specification. A reply that is not streamed has `message` in place of `delta`.
 */
export interface WireChunk {
  readonly id?: string | null;
  readonly model?: string | null;
  readonly choices?: readonly (WireChoice | null)[] | null;
  readonly usage?: WireUsage | null;
  /** Sent by Groq in place of `usage`, before it supported `usage`. */
  readonly x_groq?: { readonly usage?: WireUsage | null } | null;
}

export interface WireChoice {
  readonly index?: number | null;
  readonly delta?: WireDelta | null;
  readonly message?: WireDelta | null;
  readonly finish_reason?: string | null;
  /** Sent by Moonshot. */
  readonly usage?: WireUsage | null;
}

export interface WireDelta {
  readonly content?: string | readonly WireContent[] | null;
  readonly refusal?: string | null;
  /** Sent by DeepSeek, Qwen, xAI and vLLM. */
  readonly reasoning_content?: string | null;
  /** Sent by OpenRouter and Groq. */
  readonly reasoning?: string | null;
  readonly tool_calls?: readonly (WireToolCall | null)[] | null;
}

/** Part of the content. Mistral's reasoning models send content as parts. */
export interface WireContent {
  readonly type?: string;
  readonly text?: string | null;
  readonly thinking?: string | readonly { readonly text?: string | null }[] | null;
}

export interface WireToolCall {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
  /** Contains thought signatures of Gemini, which must be sent back. */
  readonly extra_content?: JsonObject | null;
}

export interface WireUsage {
  readonly prompt_tokens?: number | null;
  readonly completion_tokens?: number | null;
  readonly total_tokens?: number | null;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number | null } | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number | null } | null;
  /** Sent by DeepSeek. */
  readonly prompt_cache_hit_tokens?: number | null;
}
