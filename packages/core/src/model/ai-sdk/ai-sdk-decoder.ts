import type { HostedTool, Source } from '../../message/provider-metadata.ts';
import {
  isSameJson,
  isWholeObject,
  omitUndefined,
  parseJson,
  type JsonObject,
} from '../../message/json.ts';
import { toBase64 } from '../../message/media/media.ts';
import {
  metadataOfCall,
  withResult,
  type AiSdkPart,
  type AiSdkPartOf,
  type HostedToolMetadata,
} from './ai-sdk-hosted-tool.ts';
import { badReply, toAgentError } from './ai-sdk-error.ts';
import { tokenCount, type ModelDelta, type Usage } from '../chat-model.ts';
import { finishError, finishMeaning } from '../finish-reason.ts';

type FinishPart = AiSdkPartOf<'finish'>;
type FileData = AiSdkPartOf<'file'>['data'];

/** A part of a text or of the model's reasoning: its start, some of its characters or its end. */
type TextPart = AiSdkPartOf<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>;

/** Types of the parts that are content of the reply. */
const contentTypes: readonly string[] = [
  'text-delta',
  'reasoning-delta',
  'reasoning-file',
  'tool-input-delta',
  'tool-call',
  'tool-result',
  'file',
  'source',
];

/** Finish reasons that say nothing. Providers of specification version 2 send `unknown`. */
const unknownReasons: readonly string[] = ['other', 'unknown'];

interface Metadata {
  readonly providerMetadata?: JsonObject;
}

interface Block {
  readonly type: 'text' | 'thinking';
  readonly id: string;
}

interface DecodedCall {
  readonly index: number;
  readonly name: string;
  input: string;
  /** Whether its `tool-call` part came. */
  isClosed: boolean;
}

/**
 * Converts the stream parts of one reply to deltas. A tool call that the provider runs itself
 * becomes a thinking block without text. The sources go to the last text.
 */
export class AiSdkDecoder {
  readonly #calls: DecodedCall[] = [];
  /** The newest call of each id. Some providers share an id among calls. */
  readonly #callsById = new Map<string, DecodedCall>();
  readonly #metadata: { id?: string; model?: string } = {};
  readonly #provider: string;
  readonly #openCalls: ReadonlyMap<string, HostedTool>;
  readonly #hosted = new Map<string, HostedToolMetadata>();
  readonly #sources: Source[] = [];
  #lastText: Block | undefined;
  hasFinishPart = false;
  #hasContent = false;
  /** Where the deltas of the current part go. */
  #sink: ModelDelta[] = [];

  /**
   * `provider`: name of the model's provider. `openCalls`: calls of hosted tools in earlier replies
   * that have no result yet.
   */
  constructor(provider: string, openCalls: ReadonlyMap<string, HostedTool>) {
    this.#provider = provider;
    this.#openCalls = openCalls;
  }

  /** Converts one part and adds its deltas to `sink`. Throws the error of an `error` part. */
  decode(part: AiSdkPart, sink: ModelDelta[]): void {
    this.#sink = sink;
    this.#hasContent ||= contentTypes.includes(part.type);
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        this.#lastText = { type: 'text', id: `text-${part.id}` };
        return this.#pushText('text', part);
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#pushText('thinking', part);
      case 'tool-input-start':
        if (!part.providerExecuted) this.#open(part.id, part.toolName, partMetadata(part));
        return;
      case 'tool-input-delta': {
        const call = this.#callsById.get(part.id);
        if (!call || call.isClosed || !part.delta) return;
        return this.#addInput(call, part.delta, partMetadata(part));
      }
      case 'tool-call':
        if (part.providerExecuted)
          return this.#showHosted(part.toolCallId, metadataOfCall(part, this.#provider));
        return this.#closeCall(part, partMetadata(part));
      case 'tool-result':
        if (!part.preliminary) this.#showResult(part);
        return;
      case 'source':
        this.#sources.push(toSource(part));
        return;
      case 'file':
        this.#sink.push(...toFile(part.mediaType, part.data));
        return;
      case 'response-metadata':
        if (part.id) this.#metadata.id = part.id;
        if (part.modelId) this.#metadata.model = part.modelId;
        return;
      case 'finish':
        return this.#finish(part);
      case 'error':
        throw toAgentError(part.error);
    }
  }

  /** Adds text. Its start and its end only matter if they have metadata. */
  #pushText(type: 'text' | 'thinking', part: TextPart): void {
    const delta = 'delta' in part ? part.delta : '';
    if (delta || part.providerMetadata)
      this.#sink.push({ type, id: `${type}-${part.id}`, delta, ...partMetadata(part) });
  }

  #showResult(part: AiSdkPartOf<'tool-result'>): void {
    const { toolCallId: id, toolName: name } = part;
    const call = this.#hosted.get(id) ?? {
      hostedTool: this.#openCalls.get(id) ?? { id, name, input: {} },
      aiSdkTool: { provider: this.#provider, isLate: true },
    };
    this.#showHosted(id, withResult(call, part));
  }

  #showHosted(id: string, metadata: HostedToolMetadata): void {
    this.#hosted.set(id, metadata);
    const providerMetadata = { ...metadata } as unknown as JsonObject;
    this.#sink.push({ type: 'thinking', id: `tool-${id}`, delta: '', providerMetadata });
  }

  #showSources(): void {
    if (!this.#sources.length) return;
    const fields = { delta: '', providerMetadata: { sources: this.#sources } };
    const block = this.#lastText ?? { type: 'thinking', id: 'sources' };
    this.#sink.push({ ...block, ...fields });
  }

  /** Returns the open call of an id, or begins a call. */
  #open(id: string, name: string, extra: Metadata): DecodedCall {
    const openCall = this.#callsById.get(id);
    if (openCall && !openCall.isClosed && openCall.name === name) return openCall;
    if (!name) throw badReply('A tool call has no name');
    const call = { index: this.#calls.length, name, input: '', isClosed: false };
    this.#calls.push(call);
    this.#callsById.set(id, call);
    this.#sink.push({ type: 'tool-input', index: call.index, id, name, delta: '', ...extra });
    return call;
  }

  #addInput(call: DecodedCall, delta: string, extra: Metadata): void {
    call.input += delta;
    this.#sink.push({ type: 'tool-input', index: call.index, delta, ...extra });
  }

  /** Adds what the streamed input lacks. The part has the whole input. */
  #closeCall({ toolCallId: id, toolName, input }: AiSdkPartOf<'tool-call'>, extra: Metadata): void {
    const sameId = this.#callsById.get(id);
    const isRepeated = sameId?.name === toolName && sameId.input === input;
    if (sameId?.isClosed && isRepeated) return;
    const call = this.#open(id, toolName, {});
    if (!input.startsWith(call.input) && !isSameJson(parseJson(input), parseJson(call.input)))
      throw badReply('The input of a tool call differs from its streamed input');
    const rest = input.startsWith(call.input) ? input.slice(call.input.length) : '';
    if (rest || extra.providerMetadata) this.#addInput(call, rest, extra);
    call.isClosed = true;
  }

  #finish({ finishReason: { unified, raw }, usage }: FinishPart): void {
    // Providers of an older version report a reply without a finish reason as `other`.
    const isUnknown = raw === undefined && unknownReasons.includes(unified);
    const isWhole = this.#hasContent && this.#calls.every(({ input }) => isWholeObject(input));
    const isIncomplete = isUnknown && !isWhole;
    if (unified === 'interrupted' || isIncomplete) throw badReply('The reply ended early');
    this.hasFinishPart = true;
    this.#showSources();
    const reason = reasonOf(unified, raw);
    this.#sink.push({
      type: 'finish',
      reason,
      usage: toUsage(usage),
      metadata: this.#metadata,
    });
    const hasCalls = this.#calls.length + this.#hosted.size > 0;
    // Some provider packages do not recognize the failures of their servers.
    const failure = finishError(reason, hasCalls) ?? finishError(unified, hasCalls);
    if (failure) throw failure;
  }
}

/**
 * Returns the provider's word, unless only the provider's package knows what it means. Anthropic's
 * package makes text of the tool call with which older models give JSON, and says `stop`.
 */
function reasonOf(unified: string, raw = unified): string {
  const meaning = finishMeaning(raw);
  if (unified === 'stop' && meaning === 'calls') return unified;
  const hasMeaning = meaning !== 'other' || finishMeaning(unified) === 'other';
  return commonReasons.get(unified) ?? (hasMeaning ? raw : unified);
}

/** Finish reasons for which providers have their own words. */
const commonReasons: ReadonlyMap<string, string> = new Map([
  ['length', 'length'],
  ['content-filter', 'content_filter'],
]);

function partMetadata({ providerMetadata }: Pick<TextPart, 'providerMetadata'>): Metadata {
  return providerMetadata ? { providerMetadata: providerMetadata as JsonObject } : {};
}

function toSource(part: AiSdkPartOf<'source'>): Source {
  if (part.sourceType === 'url') {
    const { url, title } = part;
    return { type: 'url', url, ...(title && { title }) };
  }
  const { title, mediaType, filename } = part;
  return { type: 'document', title, mediaType, ...(filename && { filename }) };
}

/** Some providers leave counts out, contrary to the types. */
function toUsage(usage?: Partial<FinishPart['usage']>): Usage {
  const { inputTokens: input, outputTokens: output } = usage ?? {};
  return omitUndefined({
    inputTokens: tokenCount(input?.total) ?? 0,
    outputTokens: tokenCount(output?.total) ?? 0,
    reasoningTokens: tokenCount(output?.reasoning),
    cachedInputTokens: tokenCount(input?.cacheRead),
  });
}

function toFile(mediaType: string, data: FileData): readonly ModelDelta[] {
  if (typeof data === 'string') return [{ type: 'file', mediaType, data }];
  if (data instanceof Uint8Array) return [{ type: 'file', mediaType, data: toBase64(data) }];
  if (data.type === 'data') return toFile(mediaType, data.data);
  return [{ type: 'text', id: `file-${data.url}`, delta: data.url.href }];
}
