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
import type {
  WireEvent,
  WireItem,
  WirePart,
  WireResponse,
  WireResponseUsage,
} from './responses-wire.ts';

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

  constructor(options: ResponsesDecoderOptions) {
    this.#options = options;
    this.#items = new OpenItems(options.origin);
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

  decode(chunk: unknown, deltas: ModelDelta[]): void {
    if (!isRecord(chunk)) return;
    const { sequence_number: sequence } = chunk as WireEvent;
    if (this.#seen && sequence != null && sequence <= this.#seen) return;
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
        if (this.finished || this.#items.all.length) this.#restart(deltas);
        return this.#about(event.response ?? {});
      case 'response.in_progress':
      case 'response.queued':
        return this.#about(event.response ?? {});
      case 'response.output_item.added':
        if (event.item) {
          const open = this.#items.announced(event.item, event.output_index);
          this.#open(open, event.item, deltas);
        }
        return;
      case 'response.output_item.done':
        if (event.item) {
          const open = this.#items.finished(event.item, event.output_index);
          this.#close(open, event.item, deltas);
        }
        return;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#text('content', event, event.content_index, deltas);
      case 'response.reasoning_summary_text.delta':
        return this.#text('summary', event, event.summary_index, deltas);
      case 'response.reasoning_text.delta':
        return this.#text('reasoning', event, event.content_index, deltas);
      case 'response.output_text.done':
        return this.#wholeText('content', event, event.content_index, event, deltas);
      case 'response.refusal.done':
        return this.#wholeText('content', event, event.content_index, event, deltas);
      case 'response.reasoning_summary_text.done':
        return this.#wholeText('summary', event, event.summary_index, event, deltas);
      case 'response.reasoning_text.done':
        return this.#wholeText('reasoning', event, event.content_index, event, deltas);
      case 'response.content_part.done':
        return this.#wholePart(event, deltas);
      case 'response.reasoning_summary_part.done':
        return this.#wholeText('summary', event, event.summary_index, event.part, deltas);
      case 'response.output_text.annotation.added':
        if (event.annotation) {
          this.#item('message', event).addAnnotation(event.content_index ?? 0, event.annotation);
          this.#heldAnnotations += JSON.stringify(event.annotation).length;
        }
        return;
      case 'response.function_call_arguments.delta':
        return this.#item('function_call', event).addArguments(deltaOf(event), deltas);
      case 'response.function_call_arguments.done':
        return this.#item('function_call', event).completeArguments(event.arguments ?? '', deltas);
      case 'response.completed':
      case 'response.done':
        return this.#finish(event.response ?? {}, deltas);
      case 'response.incomplete':
        return this.#finish({ status: 'incomplete', ...event.response }, deltas);
      default:
        if (!isIgnored(event.type)) this.#unknownEvents++;
    }
  }

  /** Starts again: some gateways ask twice in one stream, and the last response counts. */
  #restart(deltas: ModelDelta[]): void {
    this.#items = new OpenItems(this.#options.origin);
    this.#sum = new ReplySum();
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
    this.#item(itemTypes[kind], event).addText(kind, index ?? 0, deltaOf(event), deltas);
  }

  #wholeText(
    kind: PartKind,
    event: WireEvent,
    index: number | null | undefined,
    part: WirePart | null | undefined,
    deltas: ModelDelta[],
  ): void {
    const whole = part?.text || part?.refusal;
    const open = whole && this.#item(itemTypes[kind], event);
    if (open && !open.closed) open.completeText(kind, index ?? 0, whole, deltas);
  }

  #wholePart(event: WireEvent, deltas: ModelDelta[]): void {
    const { part, content_index: index } = event;
    const kind = part?.type === 'reasoning_text' ? 'reasoning' : 'content';
    this.#wholeText(kind, event, index, part, deltas);
  }

  #open(open: OpenItem, item: WireItem, deltas: ModelDelta[]): void {
    this.#count(open);
    open.open(item, deltas);
  }

  #close(open: OpenItem, item: WireItem, deltas: ModelDelta[]): void {
    this.#count(open);
    open.close(item, deltas);
    const call = this.#items.callOf(item);
    call?.settle(item, deltas);
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

  #finish(response: WireResponse, deltas: ModelDelta[]): void {
    this.#about(response);
    const { status } = response;
    if (status === 'queued' || status === 'in_progress')
      throw new Error(`The response is ${status}.`);
    const output = (response.output ?? []).filter((item) => item !== null);
    const items = this.#items.listed(output);
    output.forEach((item, index) => this.#close(items[index]!, item, deltas));
    for (const open of this.#items.all) open.end(deltas);
    this.#response = response;
  }

  #reason(status: string | null | undefined, cause: string | null | undefined): string {
    if (cause === 'max_output_tokens' || cause === 'max_tokens') return 'length';
    if (status === 'incomplete') return cause || 'incomplete';
    return this.#calls ? 'tool_calls' : 'stop';
  }
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
