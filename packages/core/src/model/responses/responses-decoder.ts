import { AgentError } from '../../error/agent-error.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { ModelDelta } from '../chat-model.ts';
import type { Usage } from '../usage.ts';
import type { ReplyDecoder } from '../formatter.ts';
import { errorOfChunk } from '../http/provider-error.ts';
import { isIgnored } from './responses-wire.ts';
import type { OpenItem, PartKind } from './open-item.ts';
import { OpenItems } from './open-items.ts';
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

/** Decoder for the events of the Responses API. */
export class ResponsesDecoder implements ReplyDecoder {
  readonly #options: ResponsesDecoderOptions;
  #items: OpenItems;
  #sum = new ReplySum();
  #calls = 0;
  #unknownEvents = 0;
  #sequence = 0;
  /** Number of the last event before the connection broke. */
  #seen = 0;
  #id: string | undefined;
  #model: string | undefined;
  #response: WireResponse | undefined;
  #heldAnnotations = 0;
  /** Where the deltas of the current event go. */
  #sink: ModelDelta[] = [];
  readonly #emit = (delta: ModelDelta): void => {
    this.#sink.push(delta);
    if (this.#options.inputSum !== undefined) this.#sum.add(delta);
  };

  constructor(options: ResponsesDecoderOptions) {
    this.#options = options;
    this.#items = new OpenItems(options.origin, this.#emit);
    this.#id = options.id;
  }

  get finished(): boolean {
    return this.#response !== undefined;
  }

  get ended(): boolean {
    return this.finished;
  }

  get held(): number {
    return this.#items.all.length * itemLength + this.#heldAnnotations;
  }

  /** Id of the response; `undefined` before its first event. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Whether the events have numbers. True before the first event. */
  get isNumbered(): boolean {
    return this.#sequence > 0 || this.#items.all.length === 0;
  }

  /** Number of the last event. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Prepares for a connection that continues the reply. Some servers send earlier events again. */
  resume(): void {
    this.#seen = this.#sequence;
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

  decode(chunk: unknown, sink: ModelDelta[]): void {
    if (!isRecord(chunk)) return;
    const { sequence_number: sequence } = chunk as WireEvent;
    if (this.#seen && sequence != null && sequence <= this.#seen) return;
    if (sequence != null) this.#sequence = sequence;
    this.#sink = sink;
    const kind = textKind(chunk);
    if (chunk['object'] === 'response') this.#finish(chunk as WireResponse);
    else if (kind) this.#text(kind, chunk);
    else this.#decodeEvent(chunk);
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

  #decodeEvent(event: WireEvent): void {
    switch (event.type) {
      case 'response.created':
        if (this.finished || this.#items.all.length) this.#restart();
        return this.#about(event.response ?? {});
      case 'response.in_progress':
      case 'response.queued':
        return this.#about(event.response ?? {});
      case 'response.output_item.added':
        if (event.item) this.#open(event.item, event.output_index);
        return;
      case 'response.output_item.done':
        if (event.item)
          this.#close(this.#items.finished(event.item, event.output_index), event.item);
        return;
      case 'response.output_text.annotation.added':
        if (event.annotation) {
          this.#item('message', event).addAnnotation(event.content_index ?? 0, event.annotation);
          this.#heldAnnotations += JSON.stringify(event.annotation).length;
        }
        return;
      case 'response.function_call_arguments.delta':
        return this.#item('function_call', event).addArguments(deltaOf(event));
      case 'response.function_call_arguments.done':
        return this.#item('function_call', event).completeArguments(event.arguments ?? '');
      case 'response.completed':
      case 'response.done':
        return this.#finish(event.response ?? {});
      case 'response.incomplete':
        return this.#finish({ status: 'incomplete', ...event.response });
      default:
        if (!isIgnored(event.type)) this.#unknownEvents++;
    }
  }

  /** Starts again: some gateways ask twice in one stream, and the last response counts. */
  #restart(): void {
    this.#items = new OpenItems(this.#options.origin, this.#emit);
    this.#sum = new ReplySum();
    this.#calls = 0;
    this.#response = undefined;
    this.#emit({ type: 'reset', reason: 'restart' });
  }

  /** Adds text, or what is missing of a whole text. A whole text may be in a part. */
  #text(kind: PartKind, event: WireEvent): void {
    const index = (kind === 'summary' ? event.summary_index : event.content_index) ?? 0;
    if (event.type?.endsWith('.delta'))
      return this.#item(itemTypes[kind], event).addText(kind, index, deltaOf(event));
    const { text, refusal } = event.part ?? event;
    const whole = text || refusal;
    const open = whole && this.#item(itemTypes[kind], event);
    if (open && !open.closed) open.completeText(kind, index, whole);
  }

  #open(item: WireItem, place: WireEvent['output_index']): void {
    const open = this.#items.announced(item, place);
    this.#count(open);
    open.open(item);
  }

  #close(open: OpenItem, item: WireItem): void {
    this.#count(open);
    open.close(item);
    const call = this.#items.callOf(item);
    call?.settle(item);
  }

  /** Returns the item of an event that adds to an item of this type. */
  #item(type: string, { item_id: id, output_index: place }: WireEvent): OpenItem {
    const open = this.#items.mentioned(type, id, place);
    this.#count(open);
    return open;
  }

  /** Gives a function call its position among the reply's calls, at its first event. */
  #count(open: OpenItem): void {
    if (open.type === 'function_call' && !open.isCall) open.openCall(this.#calls++);
  }

  #about({ id, model }: WireResponse = {}): void {
    this.#id = id || this.#id;
    this.#model = model || this.#model;
  }

  #finish(response: WireResponse): void {
    this.#about(response);
    const { status } = response;
    if (status === 'queued' || status === 'in_progress')
      throw new Error(`The response is ${status}.`);
    const output = (response.output ?? []).filter((item) => item !== null);
    const items = this.#items.listed(output);
    output.forEach((item, index) => {
      const open = items[index];
      if (open) this.#close(open, item);
    });
    for (const open of this.#items.all) open.end();
    this.#response = response;
  }

  #reason(status: string | null | undefined, cause: string | null | undefined): string {
    if (cause === 'max_output_tokens' || cause === 'max_tokens') return 'length';
    if (status === 'incomplete') return cause || 'incomplete';
    return this.#calls ? 'tool_calls' : 'stop';
  }
}

/** Kinds of text by the name of their events: `response.NAME.delta` and `response.NAME.done`. */
const textKinds: ReadonlyMap<string, PartKind> = new Map([
  ['output_text', 'content'],
  ['refusal', 'content'],
  ['reasoning_summary_text', 'summary'],
  ['reasoning_summary_part', 'summary'],
  ['reasoning_text', 'reasoning'],
]);

/** Returns the kind of text that an event has, if any. */
function textKind({ type, part }: WireEvent): PartKind | undefined {
  if (type === 'response.content_part.done')
    return part?.type === 'reasoning_text' ? 'reasoning' : 'content';
  const name = /^response\.(\w+)\.(?:delta|done)$/.exec(type ?? '')?.[1];
  return name === undefined ? undefined : textKinds.get(name);
}

/** Types of the items that have the kinds of text. */
const itemTypes = { content: 'message', summary: 'reasoning', reasoning: 'reasoning' } as const;

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
