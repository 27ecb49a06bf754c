import { hostedToolMetadata, sourcesMetadata, type Source } from '../../message/hosted-tool.ts';
import type { JsonObject } from '../../message/json.ts';
import { jsonCopy } from '../../message/parse-json.ts';
import type { ModelDelta } from '../../model/chat-model.ts';
import { argumentText } from '../openai/openai-tool-calls.ts';
import { toHostedTool } from './hosted-tool-item.ts';
import type { KeptItem, WireAnnotation, WireItem, WirePart } from './responses-wire.ts';

/** Text of an item: answers and refusals, summaries of reasoning, or full reasoning. */
export type PartKind = 'content' | 'summary' | 'reasoning';

interface OpenPart {
  readonly kind: PartKind;
  /** Index among the parts of its kind. */
  readonly index: number;
  readonly id: string;
  text: string;
  readonly annotations: WireAnnotation[];
}

/** Tool call of an item; `index` is its position among the reply's calls. */
interface OpenCall {
  readonly index: number;
  arguments: string;
}

/** Fields that a block holds itself, or that servers refuse to get back. */
const heldByBlock = /^(content|summary|arguments|name|call_id|status)$/;

/**
 * One item of a reply while it streams. Each event of the item adds deltas. `close` adds what the
 * events left out, because some servers send a text only with the finished item.
 */
export class OpenItem {
  readonly id: string | undefined;
  readonly callId: string | undefined;
  readonly #index: number;
  readonly #origin: string;
  readonly #parts: OpenPart[] = [];
  #call: OpenCall | undefined;
  closed = false;

  constructor(index: number, origin: string, { id, call_id: callId }: WireItem) {
    this.#index = index;
    this.#origin = origin;
    this.id = id || undefined;
    this.callId = callId || undefined;
  }

  get isCall(): boolean {
    return this.#call !== undefined;
  }

  /** Adds the deltas of a text, which may be empty. */
  addText(kind: PartKind, index: number, delta: string, deltas: ModelDelta[]): void {
    if (this.closed) return;
    const part = this.#part(kind, index);
    part.text += delta;
    if (delta) deltas.push({ type: typeOf(kind), id: part.id, delta });
  }

  /** Adds the rest of a text whose whole is known. */
  completeText(kind: PartKind, index: number, whole: string, deltas: ModelDelta[]): void {
    const { text } = this.#part(kind, index);
    if (whole.startsWith(text)) this.addText(kind, index, whole.slice(text.length), deltas);
  }

  addAnnotation(index: number, annotation: WireAnnotation): void {
    this.#part('content', index).annotations.push(annotation);
  }

  /** Announces a tool call. */
  openCall(index: number, { call_id, id, name }: WireItem, deltas: ModelDelta[]): void {
    this.#call = { index, arguments: '' };
    deltas.push({
      type: 'tool-input',
      index,
      id: (call_id || id || '').trim(),
      name: (name ?? '').trim(),
      delta: '',
    });
  }

  addArguments(delta: string, deltas: ModelDelta[]): void {
    if (this.closed || !this.#call || !delta) return;
    this.#call.arguments += delta;
    deltas.push({ type: 'tool-input', index: this.#call.index, delta });
  }

  completeArguments(whole: string, deltas: ModelDelta[]): void {
    const known = this.#call?.arguments ?? '';
    if (whole.startsWith(known)) this.addArguments(whole.slice(known.length), deltas);
  }

  /** Adds what is missing of the finished item, and what a later request needs to send it back. */
  close(item: WireItem, deltas: ModelDelta[]): void {
    if (this.closed) return;
    if (item.type === 'message') this.#closeMessage(item, deltas);
    else if (item.type === 'reasoning') this.#closeReasoning(item, deltas);
    else if (item.type === 'function_call') this.#closeCall(item, deltas);
    else this.#closeHosted(item, deltas);
    this.closed = true;
  }

  #closeMessage({ content, phase }: WireItem, deltas: ModelDelta[]): void {
    content?.forEach((part, index) => {
      this.completeText('content', index, part?.text ?? part?.refusal ?? '', deltas);
    });
    const responses = this.#keep({ item: phase ? { phase } : undefined });
    for (const part of this.#parts) {
      if (!part.text) continue;
      const cited = content?.[part.index]?.annotations;
      const sources = toSources(cited?.length ? cited : part.annotations);
      const providerMetadata = { ...responses, ...(sources.length && sourcesMetadata(sources)) };
      deltas.push({ type: 'text', id: part.id, delta: '', providerMetadata });
    }
  }

  #closeReasoning(item: WireItem, deltas: ModelDelta[]): void {
    const complete = (kind: PartKind, parts: readonly (WirePart | null)[]): void => {
      parts.forEach((part, index) => this.completeText(kind, index, part?.text ?? '', deltas));
    };
    complete('summary', item.summary ?? []);
    complete('reasoning', item.content ?? []);
    const shown = this.#parts.filter(({ text }) => text);
    const kept = fieldsOf(item, /^(content|summary|status)$/);
    for (const part of shown.length ? shown : [this.#part('summary', 0)]) {
      const isLast = part === shown.at(-1) || !shown.length;
      const providerMetadata = this.#keep({
        item: isLast ? kept : undefined,
        part: part.kind === 'reasoning' ? 'content' : undefined,
      });
      deltas.push({ type: 'thinking', id: part.id, delta: '', providerMetadata });
    }
  }

  #closeCall(item: WireItem, deltas: ModelDelta[]): void {
    this.completeArguments(argumentText(item.arguments), deltas);
    const { type: _type, id: _id, ...rest } = fieldsOf(item, heldByBlock);
    deltas.push({
      type: 'tool-input',
      index: this.#call!.index,
      delta: '',
      providerMetadata: this.#keep({ item: Object.keys(rest).length ? rest : undefined }),
    });
  }

  #closeHosted(item: WireItem, deltas: ModelDelta[]): void {
    const image = item.type === 'image_generation_call' && fieldsOf(item, /^$/)['result'];
    if (typeof image === 'string')
      deltas.push({ type: 'file', mediaType: 'image/png', data: image });
    const hostedTool = toHostedTool(item);
    deltas.push({
      type: 'thinking',
      id: `item-${this.#index}`,
      delta: '',
      providerMetadata: {
        ...this.#keep({ item: fieldsOf(item, image ? /^result$/ : /^$/) }),
        ...(hostedTool && hostedToolMetadata(hostedTool)),
      },
    });
  }

  #keep({
    item,
    part,
  }: {
    item?: JsonObject | undefined;
    part?: 'content' | undefined;
  }): JsonObject {
    const kept: KeptItem = {
      index: this.#index,
      ...(item && { origin: this.#origin, item }),
      ...(part && { part }),
    };
    return { responses: { ...kept } };
  }

  #part(kind: PartKind, index: number): OpenPart {
    const id = `${kind}-${this.#index}-${index}`;
    const known = this.#parts.find((part) => part.id === id);
    if (known) return known;
    const part: OpenPart = { kind, index, id, text: '', annotations: [] };
    this.#parts.push(part);
    return part;
  }
}

function typeOf(kind: PartKind): 'text' | 'thinking' {
  return kind === 'content' ? 'text' : 'thinking';
}

/** Returns a copy of the item without the fields that `isLeftOut` matches, or that are null. */
function fieldsOf(item: WireItem, isLeftOut: RegExp): JsonObject {
  const entries = Object.entries(jsonCopy(item) as JsonObject);
  return Object.fromEntries(
    entries.filter(([key, value]) => value !== null && !isLeftOut.test(key)),
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
