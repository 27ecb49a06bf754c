import { isRecord, setFields } from '../../message/json.ts';
import type { ModelDelta, Usage } from '../chat-model.ts';
import type { ReplyDecoder } from '../formatter.ts';
import {
  decodeToolCall,
  isComplete,
  type StreamedCall,
  type WireToolCall,
} from './openai-tool-calls.ts';

/**
 * Chat-completions chunk as providers send it. Any field may be missing or null, contrary to the
 * specification. A reply that is not streamed has `message` in place of `delta`.
 */
interface WireChunk {
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

interface WireDelta {
  readonly content?: string | readonly WireContent[] | null;
  readonly refusal?: string | null;
  /** Sent by DeepSeek, Qwen, xAI and vLLM. */
  readonly reasoning_content?: string | null;
  /** Sent by OpenRouter and Groq. */
  readonly reasoning?: string | null;
  readonly tool_calls?: readonly (WireToolCall | null)[] | null;
}

/** Part of the content. Mistral's reasoning models send content as parts. */
interface WireContent {
  readonly type?: string;
  readonly text?: string | null;
  readonly thinking?: string | readonly { readonly text?: string | null }[] | null;
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

type Kind = 'text' | 'thinking';

/**
 * Decodes the chunks of chat-completions servers. Comments in the code name the servers that differ
 * from the specification.
 */
export class OpenAiDecoder implements ReplyDecoder {
  readonly #calls: StreamedCall[] = [];
  #blocks = 0;
  /** Kind and id of the current block. */
  #kind: Kind | undefined;
  #id = '';
  #choice: number | null | undefined;
  #reason = '';
  #usage: WireUsage | undefined;
  readonly #metadata: { id?: string; model?: string } = {};

  get finished(): boolean {
    return this.#reason !== '';
  }

  /**
   * Some servers send no finish reason. Without one, a tool call with empty or incomplete arguments
   * shows that the reply is incomplete.
   */
  get ended(): false | undefined {
    if (this.finished || this.#calls.every(isComplete)) return undefined;
    return false;
  }

  decode(chunk: unknown, deltas: ModelDelta[]): void {
    if (!isRecord(chunk)) return;
    const choice = (chunk as WireChunk).choices?.[0];
    this.#note(chunk as WireChunk, choice);
    if (!choice) return;
    this.#choice ??= choice.index;
    if ((choice.index ?? this.#choice) !== this.#choice) return;
    if (choice.finish_reason) this.#reason = choice.finish_reason;
    const { content, refusal, reasoning_content, reasoning, tool_calls } =
      choice.delta ?? choice.message ?? {};
    this.#push('thinking', reasoning_content || reasoning, deltas);
    this.#push('text', content, deltas);
    this.#push('text', refusal, deltas);
    for (const fragment of tool_calls ?? []) {
      if (!fragment) continue;
      this.#kind = undefined;
      decodeToolCall(fragment, this.#calls, deltas);
    }
  }

  end(): ModelDelta {
    return {
      type: 'finish',
      reason: this.#reason || (this.#calls.length ? 'tool_calls' : 'stop'),
      ...(this.#usage && { usage: toUsage(this.#usage) }),
      metadata: this.#metadata,
    };
  }

  #note({ id, model, usage, x_groq }: WireChunk, choice: WireChoice | null | undefined): void {
    if (id) this.#metadata.id = id;
    if (model) this.#metadata.model = model;
    this.#usage = usage ?? choice?.usage ?? x_groq?.usage ?? this.#usage;
  }

  #push(kind: Kind, content: WireDelta['content'], deltas: ModelDelta[]): void {
    if (!content) return;
    if (typeof content === 'string') {
      if (this.#kind !== kind) this.#id = `${kind}-${this.#blocks++}`;
      this.#kind = kind;
      deltas.push({ type: kind, id: this.#id, delta: content });
      return;
    }
    // `in` throws if a part is not an object, so such a chunk is an error.
    for (const part of content) {
      if ('thinking' in part) this.#push('thinking', part.thinking, deltas);
      if ('text' in part) this.#push(kind, part.text, deltas);
    }
  }
}

/**
 * Converts token counts. xAI and Gemini count reasoning in `total_tokens`, but not in
 * `completion_tokens`.
 */
function toUsage(usage: WireUsage): Usage {
  const inputTokens = usage.prompt_tokens ?? 0;
  const cached = usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens;
  return setFields({
    inputTokens,
    outputTokens: Math.max(usage.completion_tokens ?? 0, (usage.total_tokens ?? 0) - inputTokens),
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? undefined,
    cachedInputTokens: cached ?? undefined,
  });
}
