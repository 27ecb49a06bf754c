import type { HostedTool, Source } from '../../message/provider-metadata.ts';
import type { JsonObject, JsonValue } from '../../message/json.ts';
import { argumentText } from '../openai/openai-tool-calls.ts';
import { outputOf, toHostedTool } from './hosted-tool-item.ts';
import type { EmitDelta, StreamedCall } from './streamed-items.ts';
import type { KeptItem, WireAnnotation, WireItem } from './responses-wire.ts';

/** Text of an item: answers and refusals, summaries of reasoning, or full reasoning. */
export type PartKind = 'content' | 'summary' | 'reasoning';

interface StreamedPart {
  readonly kind: PartKind;
  /** Index among the parts of its kind. */
  readonly index: number;
  readonly id: string;
  text: string;
  readonly annotations: WireAnnotation[];
}

/** What an item is, and where it belongs. */
interface ItemFields {
  /** Position in the reply. */
  readonly index: number;
  /** Host of the server. */
  readonly origin: string;
  readonly type: WireItem['type'];
  readonly call: StreamedCall | undefined;
}

/** Fields that a block holds itself, or that servers refuse to get back. */
const omittedCallFields = /^(content|summary|arguments|name|call_id|status)$/;

/**
 * One item of a reply while it streams. Each event of the item adds deltas. `close` adds what the
 * events left out, because some servers send a text only with the finished item.
 */
export class StreamedItem {
  /** Position in the reply. */
  readonly #index: number;
  readonly #origin: string;
  readonly #emit: EmitDelta;
  readonly #parts: StreamedPart[] = [];
  /** Fields of the finished item. The first value of a field counts. */
  #fields: WireItem = {};
  #content: string | undefined;
  #hasFile = false;
  /** The output of a built-in tool, if it is an item of its own. */
  #output: JsonValue | undefined;
  readonly type: WireItem['type'];
  /** The function call that the item is. */
  readonly call: StreamedCall | undefined;
  id: string | undefined;
  callId: string | undefined;
  #name: string | undefined;
  /** The arguments in the event that announced the call. Most servers send them later. */
  #announcedArguments = '';

  constructor({ index, origin, type, call }: ItemFields, emit: EmitDelta) {
    this.#index = index;
    this.#origin = origin;
    this.type = type;
    this.call = call;
    this.#emit = emit;
  }

  /** Whether the server has finished the item. Then no event adds to it. */
  get isClosed(): boolean {
    return this.#content !== undefined;
  }

  /** Whether no part is missing of the function call that the item is. */
  get isReadable(): boolean {
    return !this.call || (Boolean(this.#name) && !this.call.isBroken);
  }

  /** The text of an answer. */
  get text(): string {
    return this.#parts.map(({ kind, text }) => (kind === 'content' ? text : '')).join('');
  }

  /** Returns whether an event with these fields can belong to this item. */
  fits({ type, call_id: callId, name }: WireItem): boolean {
    const isEqual = (knownValue: string | undefined, other: string | null | undefined): boolean =>
      !knownValue || !other || knownValue === other;
    return this.type === type && isEqual(this.callId, callId) && isEqual(this.#name, name?.trim());
  }

  /** Returns whether this item is finished and says the same. */
  hasSameContent(item: WireItem): boolean {
    return this.#content === itemText(item);
  }

  /** Returns whether a finished item can be this one, even if the ids of a call have changed. */
  canBe(item: WireItem): boolean {
    if (!this.call) return this.fits(item);
    const wholeText = argumentText(item.arguments);
    const argumentsSoFar = this.call.arguments;
    if (!this.isClosed && this.fits(item)) return true;
    const isSame = this.isClosed
      ? wholeText === argumentsSoFar
      : wholeText.startsWith(argumentsSoFar);
    return isSame && this.fits({ ...item, call_id: null });
  }

  /** Adds what an event that announces the item says about it. */
  open(item: WireItem): void {
    this.#name ||= item.name?.trim() || undefined;
    this.#announcedArguments ||= argumentText(item.arguments);
    if (this.call) this.#showCall();
    else if (!this.isClosed) this.#showTool(toHostedTool(item, this.#toolId, false), {});
  }

  /** Adds the deltas of a text, which may be empty. */
  addText(kind: PartKind, index: number, delta: string): void {
    const part = this.#part(kind, index);
    part.text += delta;
    const type = kind === 'content' ? 'text' : 'thinking';
    if (delta) this.#emit({ type, id: part.id, delta });
  }

  /** Adds the rest of a text whose whole is known. */
  completeText(kind: PartKind, index: number, whole: string): void {
    const { text } = this.#part(kind, index);
    if (whole.startsWith(text)) this.addText(kind, index, whole.slice(text.length));
  }

  addAnnotation(index: number, annotation: WireAnnotation): void {
    this.#part('content', index).annotations.push(annotation);
  }

  /**
   * Adds the parts of the finished item that the stream did not contain. Also keeps the fields that
   * a later request sends back. A server may report an item twice, with more fields each time.
   */
  close(item: WireItem): void {
    const fields: WireItem = { ...presentFields(item), ...this.#fields };
    const isNews = !this.isClosed || Object.keys(fields).length > Object.keys(this.#fields).length;
    this.#fields = fields;
    this.#content ??= itemText(item);
    if (isNews) this.#addMissing();
    else this.call?.complete(argumentText(item.arguments));
  }

  /** Shows the output of a built-in tool, which the server sent as an item of its own. */
  addOutput(output: WireItem): void {
    this.#output = outputOf(output) ?? null;
    if (this.isClosed) this.#addMissing();
  }

  /** Ends an item that the server did not finish, at the end of the reply. */
  end(): void {
    if (this.call && !this.call.arguments) this.call.add(this.#announcedArguments);
    if (this.call && this.#name) this.call.show(this.#anyId, this.#name);
    else if (!this.isClosed && this.type === 'message') this.#closeMessage({});
  }

  #addMissing(): void {
    const item = this.#fields;
    if (this.call) this.#closeCall(this.call, item);
    else if (this.type === 'message') this.#closeMessage(item);
    else if (this.type === 'reasoning') this.#closeReasoning(item);
    else this.#closeHosted(item);
  }

  /** Adds the missing texts of a kind. Events without an index belong to one text. */
  #completeAll(kind: PartKind, parts: WireItem['content']): void {
    const whole = (parts ?? []).map((part) => part?.text ?? part?.refusal ?? '');
    const textsSoFar = this.#parts.filter((part) => part.kind === kind).map(({ text }) => text);
    if (whole.join('') === textsSoFar.join('')) return;
    whole.forEach((text, index) => this.completeText(kind, index, text));
  }

  #closeMessage({ content, phase }: WireItem): void {
    this.#completeAll('content', content);
    const responses = this.#keep(phase ? { phase } : undefined);
    for (const part of this.#parts) {
      if (!part.text) continue;
      const cited = content?.[part.index]?.annotations;
      const sources = toSources(cited?.length ? cited : part.annotations);
      const providerMetadata = { ...responses, ...(sources.length && { sources }) };
      this.#emit({ type: 'text', id: part.id, delta: '', providerMetadata });
    }
  }

  #closeReasoning(item: WireItem): void {
    this.#completeAll('summary', item.summary);
    this.#completeAll('reasoning', item.content);
    const visibleParts = this.#parts.filter(({ text }) => text);
    const fields = itemFields(item, /^(content|summary|status)$/);
    for (const part of visibleParts.length ? visibleParts : [this.#part('summary', 0)]) {
      const isLast = part === visibleParts.at(-1) || !visibleParts.length;
      const providerMetadata = this.#keep(isLast ? fields : undefined, part.kind === 'reasoning');
      this.#emit({ type: 'thinking', id: part.id, delta: '', providerMetadata });
    }
  }

  #closeCall(call: StreamedCall, item: WireItem): void {
    this.#name ||= item.name?.trim() || undefined;
    call.complete(argumentText(item.arguments));
    const { type: _type, id: _id, ...rest } = itemFields(item, omittedCallFields);
    call.keep(this.#keep(Object.keys(rest).length ? rest : undefined));
    this.#showCall();
  }

  #closeHosted(item: WireItem): void {
    const image = item.type === 'image_generation_call' && itemFields(item, /^$/)['result'];
    if (typeof image === 'string' && !this.#hasFile) {
      this.#emit({ type: 'file', mediaType: `image/${item.output_format || 'png'}`, data: image });
      this.#hasFile = true;
    }
    const providerMetadata = this.#keep(itemFields(item, image ? /^result$/ : /^$/));
    const tool = toHostedTool(item, this.#toolId, true);
    const output = this.#output === undefined ? {} : { output: this.#output };
    this.#showTool(tool && { ...tool, ...output }, providerMetadata);
    if (!tool) this.#emit({ type: 'thinking', id: this.#blockId, delta: '', providerMetadata });
  }

  /** Shows a built-in tool, as a block without text. */
  #showTool(tool: HostedTool | undefined, metadata: JsonObject): void {
    if (!tool) return;
    const providerMetadata = { ...metadata, hostedTool: tool };
    this.#emit({ type: 'thinking', id: this.#blockId, delta: '', providerMetadata });
  }

  #showCall(): void {
    if (this.callId && this.#name) this.call?.show(this.#anyId, this.#name);
  }

  get #anyId(): string {
    return (this.callId ?? this.id ?? '').trim();
  }

  get #toolId(): string {
    return this.id ?? this.callId ?? this.#blockId;
  }

  get #blockId(): string {
    return `item-${this.#index}`;
  }

  /** Returns the metadata of a block of this item. `item`: fields that a later request sends. */
  #keep(item?: JsonObject, isFull = false): JsonObject {
    const metadata: KeptItem = {
      index: this.#index,
      ...(item && { origin: this.#origin, item }),
      ...(isFull && { part: 'content' }),
    };
    return { responses: { ...metadata } };
  }

  #part(kind: PartKind, index: number): StreamedPart {
    const id = `${kind}-${this.#index}-${index}`;
    const existing = this.#parts.find((part) => part.id === id);
    if (existing) return existing;
    const part: StreamedPart = { kind, index, id, text: '', annotations: [] };
    this.#parts.push(part);
    return part;
  }
}

/** Returns the item without the fields that `isLeftOut` matches, or that are null. */
function itemFields(item: WireItem, isLeftOut: RegExp): JsonObject {
  const entries = Object.entries(item as JsonObject);
  return Object.fromEntries(
    entries.filter(([key, value]) => value != null && !isLeftOut.test(key)),
  );
}

/** Converts citations. A page that a text cites twice is one source. */
function toSources(annotations: readonly (WireAnnotation | null)[]): readonly Source[] {
  const sources = new Map<string, Source>();
  for (const annotation of annotations) {
    const { type, url, title, file_id: fileId, filename } = annotation ?? {};
    const name = filename || fileId;
    if (type === 'url_citation' && url)
      sources.set(url, { type: 'url', url, ...(title && { title }) });
    else if (name)
      sources.set(name, {
        type: 'document',
        title: name,
        mediaType: 'text/plain',
        ...(filename && { filename }),
      });
  }
  return [...sources.values()];
}

/** Returns what an item says, without the ids that some gateways change. */
function itemText({ type, content, summary, call_id: callId, name, id }: WireItem): string {
  if (type === 'message') return JSON.stringify([type, content?.map((part) => part?.text)]);
  if (type === 'reasoning') return JSON.stringify([type, summary, content]);
  return JSON.stringify([type, callId || id, name]);
}

/** Returns the fields that say something. */
function presentFields(item: WireItem): WireItem {
  const isEmpty = (value: unknown): boolean =>
    value == null || value === '' || (Array.isArray(value) && !value.length);
  return Object.fromEntries(Object.entries(item).filter(([, value]) => !isEmpty(value)));
}
