import { AgentError } from '../../error/agent-error.ts';
import { isRecord } from '../../message/is-record.ts';
import type { ModelDelta } from '../../model/chat-model.ts';
import type { Usage } from '../../model/usage.ts';
import type { ReplyDecoder } from '../formatter.ts';
import { errorOfChunk } from '../provider-error.ts';
import { isIgnored } from './ignored-events.ts';
import { OpenItem, type PartKind } from './open-item.ts';
import { ReplySum, type ResponseLink } from './previous-response.ts';
import type { WireEvent, WireItem, WireResponse, WireResponseUsage } from './responses-wire.ts';

export interface ResponsesDecoderOptions {
  /** Host of the server. */
  readonly origin: string;
  /** Id of the response that the events continue. */
  readonly id?: string | undefined;
  /** Checksum of the request's input, if a later request may continue from this response. */
  readonly inputSum?: number | undefined;
}

/**
 * Decoder for the events of the Responses API. It finds an item by its position, because some
 * gateways change an item's id from event to event.
 */
export class ResponsesDecoder implements ReplyDecoder {
  readonly #options: ResponsesDecoderOptions;
  readonly #items: Map<number, OpenItem> = new Map();
  /** First position of each item, by the item's id. */
  readonly #places: Map<string, number> = new Map();
  readonly #callItems: Map<string, OpenItem> = new Map();
  /** Contents of the finished items. */
  readonly #closed: Set<string> = new Set();
  #sum = new ReplySum();
  #last = -1;
  #calls = 0;
  #unknownEvents = 0;
  #sequence = 0;
  #id: string | undefined;
  #model: string | undefined;
  #response: WireResponse | undefined;
  held = 0;

  constructor(options: ResponsesDecoderOptions) {
    this.#options = options;
    this.#id = options.id;
  }

  get finished(): boolean {
    return this.#response !== undefined;
  }

  get ended(): boolean {
    return this.finished;
  }

  /** Id of the response; `undefined` before its first event. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Whether the events have numbers. True before the first event. */
  get isNumbered(): boolean {
    return this.#sequence > 0 || this.#items.size === 0;
  }

  /** Number of the last event. */
  get sequence(): number {
    return this.#sequence;
  }

  errorOf(chunk: unknown, isErrorEvent: boolean): AgentError | undefined {
    const fields = (isRecord(chunk) ? chunk : {}) as Fields;
    const { type, object } = fields;
    if (isErrorEvent || type === 'error') return errorOfChunk(chunk, true);
    const response = object === 'response' ? fields : fields.response;
    if (type === 'response.cancelled' || response?.status === 'cancelled') return cancelledError();
    if (type === 'response.failed' || response?.status === 'failed')
      return errorOfChunk({ error: response?.error ?? {} }, true);
    // A server that knows no Responses API answers with its own error object.
    return type || response ? undefined : errorOfChunk(chunk);
  }

  decode(chunk: unknown, deltas: ModelDelta[]): void {
    if (!isRecord(chunk)) return;
    const { sequence_number: sequence } = chunk as WireEvent;
    if (sequence != null) this.#sequence = sequence;
    const from = deltas.length;
    if (chunk['object'] === 'response') this.#finish(chunk as WireResponse, deltas);
    else this.#decodeEvent(chunk as WireEvent, deltas);
    if (this.#options.inputSum === undefined) return;
    for (const delta of deltas.slice(from)) this.#sum.add(delta);
  }

  end(): ModelDelta {
    const { usage, status, incomplete_details: details } = this.#response ?? {};
    const { inputSum } = this.#options;
    const link: ResponseLink | undefined =
      inputSum === undefined ? undefined : { input: inputSum, reply: this.#sum.value };
    return {
      type: 'finish',
      reason: this.#reason(status, details?.reason),
      ...(usage && { usage: toUsage(usage) }),
      metadata: {
        ...(this.#id && { id: this.#id }),
        ...(this.#model && { model: this.#model }),
        ...(link && { responses: { ...link } }),
        ...(this.#unknownEvents && { unknownEvents: this.#unknownEvents }),
      },
    };
  }

  #decodeEvent(event: WireEvent, deltas: ModelDelta[]): void {
    switch (event.type) {
      case 'response.created':
        if (this.finished) this.#restart(deltas);
        return this.#about(event.response ?? {});
      case 'response.in_progress':
      case 'response.queued':
        return this.#about(event.response ?? {});
      case 'response.output_item.added':
        if (event.item) this.#open(event.item, this.#place(event, true), deltas);
        return;
      case 'response.output_item.done':
        if (event.item) this.#close(event.item, this.#place(event, false), deltas);
        return;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#text('content', event, event.content_index, deltas);
      case 'response.reasoning_summary_text.delta':
        return this.#text('summary', event, event.summary_index, deltas);
      case 'response.reasoning_text.delta':
        return this.#text('reasoning', event, event.content_index, deltas);
      case 'response.output_text.done':
        return this.#wholeText('content', event, event.text, deltas);
      case 'response.refusal.done':
        return this.#wholeText('content', event, event.refusal, deltas);
      case 'response.output_text.annotation.added':
        if (event.annotation) {
          this.#item(event).addAnnotation(event.content_index ?? 0, event.annotation);
          this.held += JSON.stringify(event.annotation).length;
        }
        return;
      case 'response.function_call_arguments.delta':
        return this.#item(event).addArguments(deltaOf(event), deltas);
      case 'response.function_call_arguments.done':
        return this.#item(event).completeArguments(event.arguments ?? '', deltas);
      case 'response.completed':
        return this.#finish(event.response ?? {}, deltas);
      case 'response.incomplete':
        return this.#finish({ status: 'incomplete', ...event.response }, deltas);
      default:
        if (!isIgnored(event.type)) this.#unknownEvents++;
    }
  }

  /** Starts again: some servers send two responses in one stream, and the last one counts. */
  #restart(deltas: ModelDelta[]): void {
    this.#items.clear();
    this.#places.clear();
    this.#callItems.clear();
    this.#closed.clear();
    this.#sum = new ReplySum();
    this.#last = -1;
    this.#calls = 0;
    this.#response = undefined;
    deltas.push({ type: 'reset', reason: 'restart' });
  }

  #text(
    kind: PartKind,
    event: WireEvent,
    index: number | null | undefined,
    deltas: ModelDelta[],
  ): void {
    this.#item(event).addText(kind, index ?? 0, deltaOf(event), deltas);
  }

  #wholeText(
    kind: PartKind,
    event: WireEvent,
    whole: string | null | undefined,
    deltas: ModelDelta[],
  ): void {
    if (whole) this.#item(event).completeText(kind, event.content_index ?? 0, whole, deltas);
  }

  /** Opens an item, unless it is known. A repeated item under a new position stays the first one. */
  #open(item: WireItem, index: number, deltas: ModelDelta[]): OpenItem {
    const open = this.#items.get(index) ?? this.#repeated(item) ?? this.#create(index, item);
    this.#keep(index, open);
    if (item.type === 'function_call' && !open.isCall && !open.closed) {
      open.openCall(this.#calls++, item, deltas);
    }
    return open;
  }

  #close(item: WireItem, index: number, deltas: ModelDelta[]): void {
    this.#open(item, index, deltas).close(item, deltas);
    this.#closed.add(contentOf(item));
  }

  #create(index: number, item: WireItem): OpenItem {
    this.held += itemLength;
    return new OpenItem(index, this.#options.origin, item);
  }

  #repeated({ type, id, call_id: callId }: WireItem): OpenItem | undefined {
    const place = id && this.#places.get(id);
    if (typeof place === 'number') return this.#items.get(place);
    return type === 'function_call' && callId ? this.#callItems.get(callId) : undefined;
  }

  /** Returns the item of an event. Creates it if the server did not announce it. */
  #item(event: WireEvent): OpenItem {
    const index = this.#place(event, false);
    const open = this.#items.get(index) ?? this.#create(index, {});
    this.#keep(index, open);
    return open;
  }

  #keep(index: number, open: OpenItem): void {
    this.#items.set(index, open);
    this.#last = Math.max(this.#last, index);
    if (open.id && !this.#places.has(open.id)) this.#places.set(open.id, index);
    if (open.callId && !this.#callItems.has(open.callId)) this.#callItems.set(open.callId, open);
  }

  /** Returns the position of an event's item; some servers leave `output_index` out. */
  #place({ output_index: given, item, item_id: itemId }: WireEvent, isNew: boolean): number {
    if (given != null) return given;
    const id = item?.id || itemId;
    const known = id && this.#places.get(id);
    if (typeof known === 'number') return known;
    const isNext = isNew || (item && this.#items.get(this.#last)?.closed);
    return isNext ? this.#last + 1 : Math.max(this.#last, 0);
  }

  #about({ id, model }: WireResponse = {}): void {
    this.#id = id || this.#id;
    this.#model = model || this.#model;
  }

  #finish(response: WireResponse, deltas: ModelDelta[]): void {
    this.#about(response);
    const { status } = response;
    if (status === 'queued' || status === 'in_progress')
      throw new Error(`The response is ${status}.`);
    response.output?.forEach((item, index) => {
      // Some gateways leave items out of this list or change their ids, so positions may differ.
      if (item && !this.#closed.has(contentOf(item))) this.#close(item, index, deltas);
    });
    this.#response = response;
  }

  #reason(status: string | null | undefined, cause: string | null | undefined): string {
    if (cause === 'max_output_tokens') return 'length';
    if (status === 'incomplete') return cause || 'incomplete';
    return this.#calls ? 'tool_calls' : 'stop';
  }
}

/** Returns what an item says, without the ids that some gateways change. */
function contentOf({ type, content, summary, call_id: callId, name, id }: WireItem): string {
  if (type === 'message') return JSON.stringify([type, content?.map((part) => part?.text)]);
  if (type === 'reasoning') return JSON.stringify([type, summary, content]);
  return JSON.stringify([type, callId || id, name]);
}

/** Characters that an item without content counts for. */
const itemLength = 256;

interface Fields {
  readonly type?: unknown;
  readonly object?: unknown;
  readonly error?: unknown;
  readonly status?: unknown;
  readonly response?: WireResponse | null;
}

/** Returns the error of a response that somebody has canceled at the provider. */
function cancelledError(): AgentError {
  return new AgentError('MODEL_SERVER', 'The response was canceled at the provider.', {
    details: { providerCode: 'response_cancelled' },
  });
}

function deltaOf({ delta }: WireEvent): string {
  if (delta != null && typeof delta !== 'string') throw new TypeError('The delta is not a text.');
  return delta ?? '';
}

function toUsage(usage: WireResponseUsage): Usage {
  const reasoningTokens = usage.output_tokens_details?.reasoning_tokens;
  const cachedInputTokens = usage.input_tokens_details?.cached_tokens;
  return {
    inputTokens: usage.input_tokens ?? 0,
    outputTokens: usage.output_tokens ?? 0,
    ...(reasoningTokens != null && { reasoningTokens }),
    ...(cachedInputTokens != null && { cachedInputTokens }),
  };
}
