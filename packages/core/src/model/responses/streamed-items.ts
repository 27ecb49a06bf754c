import { StreamedItem } from './streamed-item.ts';
import type { WireItem } from './responses-wire.ts';
import { isSameJson, parseJson, type JsonObject } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';

/** Position of an item. Some servers leave it out, and others send 0 for all items. */
type OutputIndex = number | null | undefined;

/** Number of the newest items that an event may belong to, so that many items take linear time. */
const maxSearchedItems = 256;

/**
 * The items of a reply. An event names its item by call id, id and position. Some servers repeat a
 * position, and some gateways change an item's id from event to event. Hence a known id counts more
 * than the position, and the position counts for an unknown id.
 */
export class StreamedItems {
  readonly #origin: string;
  readonly #emit: EmitDelta;
  readonly all: StreamedItem[] = [];
  readonly #byCall: Map<string, StreamedItem> = new Map();
  /** Items by type and id. `undefined` if several items have the same id. */
  readonly #byId: Map<string, StreamedItem | undefined> = new Map();
  readonly #byOutputIndex: Map<number, StreamedItem[]> = new Map();
  readonly #indexes: Set<number> = new Set();
  #next = 0;
  #callCount = 0;

  constructor(origin: string, emit: EmitDelta) {
    this.#origin = origin;
    this.#emit = emit;
  }

  /** Returns the item that an event announces. It is a new one, unless the event repeats it. */
  itemToOpen(item: WireItem, outputIndex: OutputIndex): StreamedItem {
    const isSame = (candidate: StreamedItem): boolean =>
      !candidate.isClosed &&
      candidate.fits(item) &&
      !(item.id && candidate.id && candidate.id !== item.id);
    const namedItem = this.#findById(item);
    // The next events of a repeated item may have only its new position.
    if (namedItem && outputIndex != null) this.#putAt(outputIndex, namedItem);
    const match = namedItem ?? (outputIndex == null ? undefined : this.#at(outputIndex, isSame));
    return this.#noteIds(match ?? this.#create(item, outputIndex), item);
  }

  /** Returns the item that an event reports as finished. */
  itemToClose(item: WireItem, outputIndex: OutputIndex): StreamedItem {
    const match =
      this.#findById(item) ??
      this.#at(outputIndex, (candidate) => !candidate.isClosed && candidate.fits(item)) ??
      this.#at(outputIndex, (candidate) => candidate.hasSameContent(item)) ??
      (outputIndex == null
        ? undefined
        : this.#at(outputIndex, (candidate) => !candidate.isClosed && candidate.canBe(item)));
    return this.#noteIds(match ?? this.#create(item, outputIndex), item);
  }

  /** Returns the item of an event that adds to it. Creates it if the server did not announce it. */
  itemToExtend(type: string, id: string | null = null, outputIndex: OutputIndex): StreamedItem {
    const item = { type, id };
    const match =
      this.#findById(item) ??
      this.#at(outputIndex, (candidate) => !candidate.isClosed && candidate.fits(item)) ??
      this.#at(outputIndex, (candidate) => candidate.fits(item));
    return this.#noteIds(match ?? this.#create(item, outputIndex), item);
  }

  /** Returns the call whose output a separate item has. */
  callOf({ type, call_id: callId }: WireItem): StreamedItem | undefined {
    if (!type?.endsWith('_output')) return undefined;
    return this.#byCall.get(`${type.replace(/_output$/, '')} ${callId}`);
  }

  /**
   * Returns the items of the list at the end of a reply. Gateways leave items out of this list, or
   * change their ids. Hence an item that is unknown by id and position is a new one only if the
   * list has more items than the events.
   */
  itemsAtEnd(output: readonly WireItem[]): readonly (StreamedItem | undefined)[] {
    const isLonger = output.length > this.all.length;
    return output.map((item, index) => {
      const match = this.#findById(item) ?? this.#at(index, (candidate) => candidate.canBe(item));
      const streamed = match ?? (isLonger ? this.#create(item, index) : undefined);
      return streamed && this.#noteIds(streamed, item);
    });
  }

  /** Returns the item with this call id or id. */
  #findById(item: WireItem): StreamedItem | undefined {
    const { type, id, call_id: callId } = item;
    const call = callId ? this.#byCall.get(`${type} ${callId}`) : undefined;
    const candidate = call ?? (id ? this.#byId.get(`${type} ${id}`) : undefined);
    return candidate?.fits(item) ? candidate : undefined;
  }

  /** Returns the newest item that passes the test, at a position or in the whole reply. */
  #at(
    outputIndex: OutputIndex,
    test: (streamed: StreamedItem) => boolean,
  ): StreamedItem | undefined {
    const items = outputIndex == null ? this.all : (this.#byOutputIndex.get(outputIndex) ?? []);
    return items.slice(-maxSearchedItems).findLast(test);
  }

  #create(item: WireItem, outputIndex: OutputIndex): StreamedItem {
    const isFree = outputIndex != null && !this.#indexes.has(outputIndex);
    const index = isFree ? outputIndex : this.#next;
    const call =
      item.type === 'function_call' ? new StreamedCall(this.#callCount++, this.#emit) : undefined;
    const fields = { index, origin: this.#origin, type: item.type, call };
    const streamed = new StreamedItem(fields, this.#emit);
    this.all.push(streamed);
    this.#indexes.add(index);
    this.#next = Math.max(this.#next, index + 1);
    this.#putAt(outputIndex ?? index, streamed);
    return streamed;
  }

  #putAt(outputIndex: number, streamed: StreamedItem): void {
    const others = this.#byOutputIndex.get(outputIndex);
    if (!others) this.#byOutputIndex.set(outputIndex, [streamed]);
    else if (others.at(-1) !== streamed) others.push(streamed);
  }

  /** Keeps the first ids of an item, because later events use these ids. */
  #noteIds(streamed: StreamedItem, { id, call_id: callId }: WireItem): StreamedItem {
    if (id && !streamed.id) {
      const key = `${streamed.type} ${id}`;
      this.#byId.set(key, this.#byId.has(key) ? undefined : streamed);
      streamed.id = id;
    }
    if (callId && !streamed.callId) {
      this.#byCall.set(`${streamed.type} ${callId}`, streamed);
      streamed.callId = callId;
    }
    return streamed;
  }
}

/** Adds a delta to the reply. */
export type EmitDelta = (delta: ModelDelta) => void;

/**
 * A function call of a reply while it streams. Its deltas wait until its id and its name are known.
 * Some servers send them only with the finished item, or only at the end of the reply.
 */
export class StreamedCall {
  /** Position among the reply's calls. */
  readonly #index: number;
  readonly #emit: EmitDelta;
  arguments = '';
  /** Whether the server gave other arguments later: a part was lost, or two calls share an id. */
  isBroken = false;
  #isShown = false;
  #metadata: JsonObject | undefined;

  constructor(index: number, emit: EmitDelta) {
    this.#index = index;
    this.#emit = emit;
  }

  add(delta: string): void {
    this.arguments += delta;
    if (this.#isShown && delta) this.#emit({ type: 'tool-input', index: this.#index, delta });
  }

  /** Adds the rest of the arguments whose whole is known. */
  complete(whole: string): void {
    if (whole.startsWith(this.arguments)) this.add(whole.slice(this.arguments.length));
    else if (whole) this.isBroken ||= !isSameJson(parseJson(whole), parseJson(this.arguments));
  }

  /** Adds what a later request needs to send the call back. */
  keep(providerMetadata: JsonObject): void {
    this.#metadata = providerMetadata;
    if (this.#isShown)
      this.#emit({ type: 'tool-input', index: this.#index, delta: '', providerMetadata });
  }

  /** Announces the call, with all that has waited for it. */
  show(id: string, name: string): void {
    if (this.#isShown) return;
    this.#isShown = true;
    this.#emit({
      type: 'tool-input',
      index: this.#index,
      id,
      name,
      delta: this.arguments,
      ...(this.#metadata && { providerMetadata: this.#metadata }),
    });
  }
}
