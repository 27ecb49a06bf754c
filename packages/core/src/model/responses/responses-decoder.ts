import { AgentError, fieldsOf } from '../../error/agent-error.ts';
import { isObjectOrArray, omitUndefined } from '../../message/json.ts';
import { tokenCount, type ModelDelta, type Usage } from '../chat-model.ts';
import { finishError, finishMeaning } from '../finish-reason.ts';
import type { ReplyDecoder } from '../formatter/formatter.ts';
import { badResponseError, errorOfChunk } from '../http/provider-error.ts';
import {
  isIgnored,
  type ResponsesEvent,
  type WireItem,
  type WireResponse,
  type WireResponseUsage,
} from './responses-wire.ts';
import type { StreamedItem, PartKind } from './streamed-item.ts';
import { StreamedItems } from './streamed-items.ts';
import { replySum } from './previous-response.ts';

/** Decoder for the events of the Responses API. */
export class ResponsesDecoder implements ReplyDecoder {
  readonly #origin: string;
  readonly #inputSum: number | undefined;
  #items: StreamedItems;
  #unknownEventCount = 0;
  /** Number of the last event before the connection broke. */
  #seenSequence = 0;
  #model: string | undefined;
  #response: WireResponse | undefined;
  #annotationsLength = 0;
  /** Where the deltas of the current event go. */
  #sink: ModelDelta[] = [];
  /** Id of the response; `undefined` before its first event. */
  id: string | undefined;
  /** Number of the last event. */
  sequence = 0;

  /**
   * `origin`: host of the server. `inputSum`: checksum of the request's input, if a later request
   * may continue from this response.
   */
  constructor(origin: string, inputSum?: number) {
    this.#origin = origin;
    this.#inputSum = inputSum;
    this.#items = this.#noItems();
  }

  get finishReason(): string {
    if (!this.#response) return '';
    const { status, incomplete_details: details } = this.#response;
    const ownStatus = status === 'completed' ? undefined : status;
    const cause = details?.reason || ownStatus;
    if (cause) return finishMeaning(cause) === 'length' ? 'length' : cause;
    return this.#hasCalls ? 'tool_calls' : 'stop';
  }

  get isComplete(): boolean {
    return this.#response !== undefined && this.#items.all.every(({ isReadable }) => isReadable);
  }

  get failure(): AgentError | undefined {
    return finishError(this.finishReason, this.#hasCalls);
  }

  get #hasCalls(): boolean {
    return this.#items.all.some(({ call }) => call);
  }

  get bufferedLength(): number {
    return this.#items.all.length * itemLength + this.#annotationsLength;
  }

  /** Whether the events have numbers. True before the first event. */
  get isNumbered(): boolean {
    return this.sequence > 0 || this.#items.all.length === 0;
  }

  /** Prepares for a connection that continues the reply. Some servers send earlier events again. */
  resume(): void {
    this.#seenSequence = this.sequence;
  }

  errorOf(chunk: unknown, isErrorEvent: boolean): AgentError | undefined {
    const event: ResponsesEvent = fieldsOf(chunk);
    const { type } = event;
    if (isErrorEvent || type === 'error') return errorOfChunk(chunk, true);
    const response = event.object === 'response' ? (event as WireResponse) : event.response;
    if (type === 'response.cancelled' || response?.status === 'cancelled') return canceledError();
    if (type === 'response.failed' || response?.status === 'failed')
      return errorOfChunk({ error: response?.error ?? {} }, true);
    // A server that knows no Responses API answers with its own error object.
    return type || response ? undefined : errorOfChunk(chunk);
  }

  decode(chunk: unknown, sink: ModelDelta[]): void {
    if (!isObjectOrArray(chunk)) return;
    const event: ResponsesEvent = chunk;
    const { sequence_number: sequence } = event;
    if (this.#seenSequence && sequence != null && sequence <= this.#seenSequence) return;
    this.sequence = sequence ?? this.sequence;
    this.#sink = sink;
    const kind = textKind(event);
    if (event.object === 'response') this.#finish(chunk);
    else if (kind) this.#text(kind, event);
    else this.#decodeEvent(event);
  }

  end(): ModelDelta {
    const { usage } = this.#response ?? {};
    return {
      type: 'finish',
      reason: this.finishReason,
      ...(usage && { usage: toUsage(usage) }),
      metadata: {
        ...(this.id && { id: this.id }),
        ...(this.#model && { model: this.#model }),
        ...(this.#inputSum !== undefined && {
          responses: { input: this.#inputSum, reply: this.#replySum() },
        }),
        ...(this.#unknownEventCount && { unknownEvents: this.#unknownEventCount }),
      },
    };
  }

  #decodeEvent(event: ResponsesEvent): void {
    const { item, output_index: outputIndex, annotation } = event;
    switch (event.type) {
      case 'response.created':
        if (this.isComplete || this.#items.all.length) this.#restart();
        return this.#noteResponse(event.response);
      case 'response.in_progress':
      case 'response.queued':
        return this.#noteResponse(event.response);
      case 'response.output_item.added':
        if (item) this.#items.itemToOpen(item, outputIndex).open(item);
        return;
      case 'response.output_item.done':
        if (item) this.#close(this.#items.itemToClose(item, outputIndex), item);
        return;
      case 'response.output_text.annotation.added':
        if (!annotation) return;
        this.#item('message', event)?.addAnnotation(event.content_index ?? 0, annotation);
        this.#annotationsLength += JSON.stringify(annotation).length;
        return;
      case 'response.function_call_arguments.delta':
        return this.#item('function_call', event)?.call?.add(deltaOf(event));
      case 'response.function_call_arguments.done':
        return this.#item('function_call', event)?.call?.complete(event.arguments ?? '');
      case 'response.completed':
      case 'response.done':
        return this.#finish({ ...event.response });
      case 'response.incomplete':
        return this.#finish({ status: 'incomplete', ...event.response });
      default:
        if (!isIgnored(event.type)) this.#unknownEventCount++;
    }
  }

  /** Starts again: some gateways ask twice in one stream, and the last response counts. */
  #restart(): void {
    this.#items = this.#noItems();
    this.#response = undefined;
    this.#sink.push({ type: 'reset', reason: 'restart' });
  }

  #noItems(): StreamedItems {
    return new StreamedItems(this.#origin, (delta) => void this.#sink.push(delta));
  }

  /** Adds text, or what is missing of a whole text. A whole text may be in a part. */
  #text(kind: PartKind, event: ResponsesEvent): void {
    const index = (kind === 'summary' ? event.summary_index : event.content_index) ?? 0;
    const itemType = kind === 'content' ? 'message' : 'reasoning';
    if (event.type?.endsWith('.delta'))
      return this.#item(itemType, event)?.addText(kind, index, deltaOf(event));
    const { text, refusal } = event.part ?? event;
    const wholeText = text || refusal;
    if (wholeText) this.#item(itemType, event)?.completeText(kind, index, wholeText);
  }

  #close(openItem: StreamedItem, item: WireItem): void {
    openItem.close(item);
    this.#items.callOf(item)?.addOutput(item);
  }

  /** Returns the item to which an event adds. `undefined` if the item is finished. */
  #item(
    type: string,
    { item_id: id, output_index: outputIndex }: ResponsesEvent,
  ): StreamedItem | undefined {
    const openItem = this.#items.itemToExtend(type, id, outputIndex);
    return openItem.isClosed ? undefined : openItem;
  }

  #noteResponse(response: WireResponse | null | undefined): void {
    this.id = response?.id || this.id;
    this.#model = response?.model || this.#model;
  }

  #finish(response: WireResponse): void {
    this.#noteResponse(response);
    const { status } = response;
    if (status === 'queued' || status === 'in_progress')
      throw badResponseError(
        `The response has not ended, its status is "${status}"`,
        JSON.stringify(response),
      );
    const output = (response.output ?? []).filter((item) => item !== null);
    const items = this.#items.itemsAtEnd(output);
    output.forEach((item, index) => {
      const openItem = items[index];
      if (openItem) this.#close(openItem, item);
    });
    for (const openItem of this.#items.all) openItem.end();
    this.#response = response;
  }

  #replySum(): number {
    const items = this.#items.all;
    const calls = items.flatMap(({ call }) => (call ? [call.arguments] : []));
    return replySum(items.map(({ text }) => text).join(''), calls);
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
function textKind({ type, part }: ResponsesEvent): PartKind | undefined {
  if (type === 'response.content_part.done')
    return part?.type === 'reasoning_text' ? 'reasoning' : 'content';
  const name = /^response\.(\w+)\.(?:delta|done)$/.exec(type ?? '')?.[1] ?? '';
  return textKinds.get(name);
}

/** Characters that an item without content counts for. */
const itemLength = 256;

/** Returns the error of a response that somebody has canceled at the provider. */
function canceledError(): AgentError {
  return new AgentError('MODEL_SERVER', 'The response was canceled at the provider.', {
    details: { providerCode: 'response_cancelled' },
  });
}

function deltaOf({ delta }: ResponsesEvent): string {
  if (delta != null && typeof delta !== 'string') throw new TypeError('The delta is not a text.');
  return delta ?? '';
}

function toUsage(usage: WireResponseUsage): Usage {
  return omitUndefined({
    inputTokens: tokenCount(usage.input_tokens) ?? 0,
    outputTokens: tokenCount(usage.output_tokens) ?? 0,
    reasoningTokens: tokenCount(usage.output_tokens_details?.reasoning_tokens),
    cachedInputTokens: tokenCount(usage.input_tokens_details?.cached_tokens),
  });
}
