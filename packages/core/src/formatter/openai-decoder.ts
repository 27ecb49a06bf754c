import { isRecord } from '../message/is-record.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import type { Usage } from '../model/usage.ts';
import type { ReplyDecoder } from './formatter.ts';
import { decodeToolCall, type OpenCall } from './openai-tool-calls.ts';
import type { WireChoice, WireChunk, WireContent, WireDelta, WireUsage } from './openai-wire.ts';

type Kind = 'text' | 'thinking';

/** Takes the chunks of every chat-completions server we have seen; their quirks are named where they are met. */
export class OpenAiDecoder implements ReplyDecoder {
  readonly #calls: OpenCall[] = [];
  #blocks = 0;
  /** The kind of block that is being written, and its id. */
  #kind: Kind | undefined;
  #block = '';
  #choice: number | null | undefined;
  #reason = '';
  #usage: WireUsage | undefined;
  readonly #metadata: { id?: string; model?: string } = {};

  get finished(): boolean {
    return this.#reason !== '';
  }

  decode(chunk: unknown, deltas: ModelDelta[]): void {
    if (!isRecord(chunk)) return;
    const { id, model, choices, usage, x_groq } = chunk as WireChunk;
    if (id) this.#metadata.id = id;
    if (model) this.#metadata.model = model;
    const choice = choices?.[0];
    if (choice) this.#decodeChoice(choice, deltas);
    this.#usage = usage ?? choice?.usage ?? x_groq?.usage ?? this.#usage;
  }

  end(): ModelDelta {
    return {
      type: 'finish',
      reason: this.#reason || (this.#calls.length > 0 ? 'tool_calls' : 'stop'),
      ...(this.#usage && { usage: toUsage(this.#usage) }),
      metadata: this.#metadata,
    };
  }

  #decodeChoice(choice: WireChoice, deltas: ModelDelta[]): void {
    this.#choice ??= choice.index;
    if (choice.index !== this.#choice && choice.index != null) return;
    if (choice.finish_reason) this.#reason = choice.finish_reason;
    const delta = choice.delta ?? choice.message;
    if (!delta) return;
    this.#decodeText(delta, deltas);
    for (const fragment of delta.tool_calls ?? []) {
      if (!fragment) continue;
      this.#kind = undefined;
      decodeToolCall(fragment, this.#calls, deltas);
    }
  }

  #decodeText({ content, refusal, reasoning_content, reasoning }: WireDelta, deltas: ModelDelta[]): void {
    this.#push('thinking', reasoning_content || reasoning, deltas);
    if (typeof content === 'object') for (const part of content ?? []) this.#decodePart(part, deltas);
    else this.#push('text', content, deltas);
    this.#push('text', refusal, deltas);
  }

  #decodePart({ text, thinking }: WireContent, deltas: ModelDelta[]): void {
    if (typeof thinking === 'object') for (const part of thinking ?? []) this.#push('thinking', part.text, deltas);
    else this.#push('thinking', thinking, deltas);
    this.#push('text', text, deltas);
  }

  #push(kind: Kind, delta: string | null | undefined, deltas: ModelDelta[]): void {
    if (!delta) return;
    if (typeof delta !== 'string') throw new TypeError(kind);
    if (this.#kind !== kind) {
      this.#kind = kind;
      this.#block = `${kind}-${this.#blocks++}`;
    }
    deltas.push({ type: kind, id: this.#block, delta });
  }
}

/** xAI and Gemini leave reasoning out of `completion_tokens`; their total has it. */
function toUsage(usage: WireUsage): Usage {
  const inputTokens = usage.prompt_tokens ?? 0;
  const reasoningTokens = usage.completion_tokens_details?.reasoning_tokens;
  const cachedInputTokens = usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens;
  return {
    inputTokens,
    outputTokens: Math.max(usage.completion_tokens ?? 0, (usage.total_tokens ?? 0) - inputTokens),
    ...(reasoningTokens != null && { reasoningTokens }),
    ...(cachedInputTokens != null && { cachedInputTokens }),
  };
}
