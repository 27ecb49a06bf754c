import type { AgentError } from '../../error/agent-error.ts';
import { isObjectOrArray, omitUndefined } from '../../message/json.ts';
import { tokenCount, type ModelDelta, type Usage } from '../chat-model.ts';
import { finishError, finishMeaning } from '../finish-reason.ts';
import type { Loose, ReplyDecoder } from '../formatter/formatter.ts';
import { keepFields, keptMetadata, type KeptFields } from './kept-fields.ts';
import { StreamedToolCalls, type WireToolCall } from './openai-tool-calls.ts';

/**
 * Chat-completions chunk as providers send it. Any field may be missing or null, contrary to the
 * specification. A reply that is not streamed has `message` in place of `delta`.
 */
type WireChunk = Loose<{
  id: string;
  model: string;
  choices: readonly (WireChoice | null)[];
  usage: WireUsage;
  /** Sent by Groq in place of `usage`, before it supported `usage`. */
  x_groq: Loose<{ usage: WireUsage }>;
}>;

export type WireChoice = Loose<{
  index: number;
  delta: WireDelta;
  message: WireDelta;
  finish_reason: string;
  /** Sent by Moonshot. */
  usage: WireUsage;
}>;

type WireDelta = Loose<{
  content: string | readonly WireContent[];
  refusal: string;
  /** Sent by DeepSeek, Qwen, xAI and vLLM. */
  reasoning_content: string;
  /** Sent by OpenRouter and Groq. */
  reasoning: string;
  /** Sent by GitHub Copilot. */
  reasoning_text: string;
  /** Sent by OpenRouter, and by MiniMax in place of the fields above. */
  reasoning_details: readonly (Loose<{ text: string; summary: string }> | null)[];
  tool_calls: readonly (WireToolCall | null)[];
}>;

/** Part of the content. Mistral's reasoning models send content as parts. */
type WireContent = Loose<{
  type: string;
  text: string;
  thinking: string | readonly Loose<{ text: string }>[];
}>;

export type WireUsage = Loose<{
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: Loose<{ cached_tokens: number }>;
  completion_tokens_details: Loose<{ reasoning_tokens: number }>;
  /** Sent by DeepSeek. */
  prompt_cache_hit_tokens: number;
}>;

type TextKind = 'text' | 'thinking';

/**
 * Decodes the chunks of chat-completions servers. Comments in the code name the servers that differ
 * from the specification.
 */
export class OpenAiDecoder implements ReplyDecoder {
  /** Host that gets the reply's extra fields back. `undefined`: nobody does. */
  readonly #origin: string | undefined;
  readonly #extras: KeptFields = {};
  readonly #calls: StreamedToolCalls;
  #blockCount = 0;
  /** Kind and id of the current block. */
  #kind: TextKind | undefined;
  #id = '';
  #thinkingId = 'kept';
  #choiceIndex: number | null | undefined;
  /** Further choices, whose tool calls are not read yet. */
  readonly #otherChoices: WireChoice[] = [];
  /** Whether the tool calls are in other choices than the text. */
  #readsOthers = false;
  /** Whether a delta had content. A message then repeats it. */
  #isStreamed = false;
  finishReason = '';
  #usage: Usage | undefined;
  readonly #metadata: { id?: string; model?: string } = {};

  constructor(origin?: string) {
    this.#origin = origin;
    this.#calls = new StreamedToolCalls(origin);
  }

  /**
   * Some servers send no finish reason. Without one, a tool call with empty or incomplete arguments
   * shows that the reply is incomplete, and so does a reply without any content. llama.cpp sent
   * such a reply for a request that is too long:
   * https://github.com/NousResearch/hermes-agent/issues/65631
   */
  get isComplete(): false | undefined {
    const isFinished = this.finishReason !== '';
    if (!isFinished && !this.#hasContent) return false;
    return this.#calls.areComplete(isFinished) ? undefined : false;
  }

  get bufferedLength(): number {
    return this.#calls.waitingLength;
  }

  get failure(): AgentError | undefined {
    return finishError(this.finishReason, this.#calls.count > 0);
  }

  decode(chunk: unknown, deltas: ModelDelta[]): void {
    if (!isObjectOrArray(chunk)) return;
    const choices = (chunk as WireChunk).choices ?? [];
    this.#note(chunk as WireChunk, choices[0]);
    for (const choice of choices) {
      if (!choice) continue;
      this.#choiceIndex ??= choice.index;
      const isOther = (choice.index ?? this.#choiceIndex) !== this.#choiceIndex;
      if (isOther) this.#otherChoices.push(choice);
      else this.#readChoice(choice, deltas);
    }
    if (this.#otherChoices.length) this.#readOthers(deltas);
  }

  get #hasContent(): boolean {
    return this.#blockCount > 0 || !this.#calls.isEmpty;
  }

  flush(deltas: ModelDelta[]): void {
    this.#calls.emit(deltas, true);
    const providerMetadata = keptMetadata(this.#origin, this.#extras);
    if (providerMetadata)
      deltas.push({ type: 'thinking', id: this.#thinkingId, delta: '', providerMetadata });
  }

  end(): ModelDelta {
    return {
      type: 'finish',
      reason: this.finishReason || this.#assumedReason,
      ...(this.#usage && { usage: this.#usage }),
      metadata: this.#metadata,
    };
  }

  /**
   * Finish reason of a reply without one. Some servers never send a reason in a stream. Others
   * leave it out when they cut a reply (https://github.com/abetlen/llama-cpp-python/issues/735,
   * https://github.com/BerriAI/litellm/issues/10686). So a streamed text may be cut. A reply in one
   * piece is whole.
   */
  get #assumedReason(): string {
    if (this.#calls.count) return 'tool_calls';
    return this.#isStreamed ? 'unknown' : 'stop';
  }

  #note({ id, model, usage, x_groq }: WireChunk, choice: WireChoice | null | undefined): void {
    if (id) this.#metadata.id = id;
    if (model) this.#metadata.model = model;
    const counted = usage ?? choice?.usage ?? x_groq?.usage;
    if (counted) this.#usage = laterUsage(counted, this.#usage);
  }

  /**
   * Reads the tool calls of further choices, if the first one announces calls and has none. Copilot
   * sends the calls of Claude so: https://github.com/HKUDS/nanobot/pull/1555
   */
  #readOthers(deltas: ModelDelta[]): void {
    this.#readsOthers ||= this.#calls.isEmpty && finishMeaning(this.finishReason) === 'calls';
    if (!this.#readsOthers) return;
    for (const { delta, message } of this.#otherChoices.splice(0))
      this.#readCalls((delta ?? message)?.tool_calls ?? [], !delta, deltas);
  }

  #readChoice(choice: WireChoice, deltas: ModelDelta[]): void {
    this.#noteReason(choice.finish_reason);
    // MiniMax ends a stream with the whole message: https://github.com/ENTERPILOT/GoModel/pull/1068
    const message = this.#isStreamed ? undefined : choice.message;
    const delta = choice.delta ?? message ?? {};
    const { content, refusal, reasoning_content, reasoning, reasoning_text, tool_calls } = delta;
    keepFields(this.#extras, delta);
    const thinking = reasoning_content || reasoning || reasoning_text || detailsText(delta);
    this.#push('thinking', thinking, deltas);
    this.#push('text', content, deltas);
    this.#push('text', refusal, deltas);
    const isWhole = !choice.delta;
    if (tool_calls || isWhole || this.finishReason)
      this.#readCalls(tool_calls ?? [], isWhole, deltas);
    this.#isStreamed ||= choice.delta != null && this.#hasContent;
  }

  /**
   * Notes a finish reason. KoboldCpp and DashScope send the text "null" until the reply ends
   * (https://github.com/PowerShell/AIShell/issues/350). ChatMock sends `stop` after another reason
   * (https://github.com/RayBytes/ChatMock/pull/114).
   */
  #noteReason(reason: string | null | undefined): void {
    if (!reason || reason === 'null') return;
    if (reason !== 'stop' || !this.finishReason) this.finishReason = reason;
  }

  /** `isWhole`: whether the reply is not streamed, so that each item is a call of its own. */
  #readCalls(
    wireCalls: readonly (WireToolCall | null)[],
    isWhole: boolean,
    deltas: ModelDelta[],
  ): void {
    for (const [index, fragment] of wireCalls.entries()) {
      if (!fragment) continue;
      this.#kind = undefined;
      this.#calls.add(isWhole ? { ...fragment, index } : fragment, deltas);
    }
    if (isWhole || this.finishReason) this.#calls.emit(deltas, true);
  }

  #push(kind: TextKind, content: WireDelta['content'], deltas: ModelDelta[]): void {
    if (!content) return;
    if (typeof content === 'string') {
      if (this.#kind !== kind) this.#id = `${kind}-${this.#blockCount++}`;
      this.#kind = kind;
      if (kind === 'thinking') this.#thinkingId = this.#id;
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

function detailsText({ reasoning_details: details }: WireDelta): string {
  if (!Array.isArray(details)) return '';
  return (details as NonNullable<WireDelta['reasoning_details']>)
    .map((part) => part?.text ?? part?.summary ?? '')
    .join('');
}

/**
 * Returns the usage after a chunk. A zero replaces no earlier count: some gateways end with
 * `usage: {}` or with zeros (https://github.com/router-for-me/CLIProxyAPI/pull/2762). xAI and
 * Gemini count reasoning in `total_tokens`, but not in `completion_tokens`.
 */
function laterUsage(usage: WireUsage, earlier: Partial<Usage> = {}): Usage | undefined {
  const inputTokens = laterCount(usage.prompt_tokens, earlier.inputTokens);
  const totalTokens = tokenCount(usage.total_tokens) ?? 0;
  const writtenTokens = tokenCount(usage.completion_tokens) ?? 0;
  const outputTokens = Math.max(writtenTokens, totalTokens - (inputTokens ?? 0));
  if (inputTokens === undefined && !outputTokens) return undefined;
  const { prompt_tokens_details: inputDetails, completion_tokens_details: outputDetails } = usage;
  const cachedTokens = inputDetails?.cached_tokens ?? usage.prompt_cache_hit_tokens;
  return omitUndefined({
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens || (earlier.outputTokens ?? 0),
    reasoningTokens: laterCount(outputDetails?.reasoning_tokens, earlier.reasoningTokens),
    cachedInputTokens: laterCount(cachedTokens, earlier.cachedInputTokens),
  });
}

function laterCount(value: unknown, earlier: number | undefined): number | undefined {
  const count = tokenCount(value);
  return count || (earlier ?? count);
}
