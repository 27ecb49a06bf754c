import { AgentError, type KeyValueStore } from '@isoloop/core';
import { joinValue, splitValue, type Entry } from '@isoloop/core/memory';
import type {
  FailedMessage,
  NewTurn,
  QueuedTurn,
  TurnQueue,
  TurnState,
} from '../queue/turn-queue.ts';
import { logError } from '../http/error-response.ts';

/** What the store keeps of a queue, as JSON. Each message has values of its own. */
interface StoredQueue {
  readonly v: typeof queueVersion;
  readonly turns: readonly (StoredMessage & TurnState)[];
  readonly failed: readonly StoredMessage[];
  readonly blockedId?: number | undefined;
}

/** Where the store has a turn or a failed message. */
interface StoredMessage {
  readonly id: number;
  /** Number of values. A store may limit their size. */
  readonly values: number;
}

interface NumberedFailure extends FailedMessage {
  readonly id: number;
}

const queueVersion = 2;

/**
 * Unfinished turns of a session, in the memory of the process. A store keeps those that wait for
 * another turn, until their end. After the death of the process, another one continues them.
 */
export class InProcessQueue implements TurnQueue {
  readonly #store: KeyValueStore;
  readonly #key: string;
  #turns: readonly QueuedTurn[] = [];
  #failed: readonly NumberedFailure[] = [];
  #blockedId: number | undefined;
  /**
   * Ids of the turns that the store keeps. The client of any other turn waits for its first event.
   */
  readonly #storedIds: Set<number> = new Set();
  #lastId = 0;
  /** Values of the messages that the store keeps, by id. They never change. */
  readonly #entries: Map<number, readonly Entry[]> = new Map();
  /** Keys of messages that the store may have. */
  readonly #storedKeys: Set<string> = new Set();
  /** JSON that was last written to the store, or `undefined` if there is none. */
  #storedText: string | undefined;
  /** Whether the store may have something else than `#storedText`, because it has failed. */
  #isUnsure = false;
  /** Settles when the store has all changes so far. */
  #whenStored: Promise<void> = Promise.resolve();

  /** `key`: id of the session in the store. */
  constructor(store: KeyValueStore, key: string) {
    this.#store = store;
    this.#key = `queue:${encodeURIComponent(key)}`;
  }

  /** Resolves when the store has the turns that wait. Rejects if it could not write them. */
  get whenStored(): Promise<void> {
    return this.#whenStored;
  }

  /** Reads the turns that an earlier process has left. Call this once, before all else. */
  async load(): Promise<void> {
    this.#isUnsure = true;
    this.#storedText = await this.#store.get(this.#key);
    const text = this.#storedText;
    const stored = text === undefined ? undefined : parse<StoredQueue>(() => text);
    this.#isUnsure = stored === undefined && text !== undefined;
    if (!stored) return;
    const { v, turns, failed, blockedId } = stored;
    if (v !== queueVersion)
      throw new AgentError(
        'STORAGE_FAILED',
        `The queue of the session has format ${String(v)}; this version of the library reads ${queueVersion}.`,
      );
    const messages = [...turns, ...failed];
    const values = await this.#store.getMany(messages.flatMap((message) => this.#keysOf(message)));
    const read = <T>(message: StoredMessage): readonly T[] => {
      const entries = this.#keysOf(message).flatMap((key): readonly Entry[] => {
        const value = values.get(key);
        return value === undefined ? [] : [[key, value]];
      });
      for (const [key] of entries) this.#storedKeys.add(key);
      const content = parse<T>(() => joinValue(entries.map(([, value]) => value)));
      if (content === undefined) return [];
      this.#entries.set(message.id, entries);
      return [content];
    };
    this.#turns = turns.flatMap((turnState) => {
      const { id, hasBegun, attempts } = turnState;
      return read<NewTurn>(turnState).map((turn) => ({ ...turn, id, hasBegun, attempts }));
    });
    this.#failed = failed.flatMap((failure) => read<NumberedFailure>(failure));
    this.#blockedId = blockedId;
    for (const { id } of turns) this.#storedIds.add(id);
    this.#lastId = Math.max(0, ...messages.map(({ id }) => id));
  }

  add(turn: NewTurn, { attempts }: TurnState = { hasBegun: false, attempts: 0 }): QueuedTurn {
    const queuedTurn = { ...turn, id: ++this.#lastId, hasBegun: false, attempts };
    if (this.#turns.length) this.#storedIds.add(queuedTurn.id);
    this.#setTurns([...this.#turns, queuedTurn]);
    return queuedTurn;
  }

  first(): QueuedTurn | undefined {
    return this.#turns[0];
  }

  find(isSought: (turn: QueuedTurn) => boolean): QueuedTurn | undefined {
    return this.#turns.find(isSought);
  }

  all(): readonly QueuedTurn[] {
    return this.#turns;
  }

  get size(): number {
    return this.#turns.length;
  }

  begin(id: number): void {
    this.#change(id, () => ({ hasBegun: true }));
  }

  attempt(id: number): void {
    this.#change(id, ({ attempts }) => ({ attempts: attempts + 1 }));
  }

  end(id: number): void {
    this.#storedIds.delete(id);
    this.#entries.delete(id);
    this.#blockedId = undefined;
    this.#setTurns(this.#turns.filter((turn) => turn.id !== id));
  }

  get blockedId(): number | undefined {
    return this.#blockedId;
  }

  block(id: number): void {
    this.#blockedId = id;
    this.#storedIds.add(id);
    this.#change(id, () => ({ hasBegun: false, attempts: 0 }));
  }

  failedMessages(): readonly FailedMessage[] {
    return this.#failed;
  }

  keepFailed(failed: FailedMessage): void {
    const others = this.#failed.filter(({ message }) => message.id !== failed.message.id);
    this.#failed = [...others, { ...failed, id: ++this.#lastId }];
    this.#save();
  }

  forgetFailed(messageId: string): boolean {
    const others = this.#failed.filter(({ message }) => message.id !== messageId);
    const isKnown = others.length < this.#failed.length;
    this.#failed = others;
    this.#save();
    return isKnown;
  }

  /** Deletes what the store has, also what a dead process has left. */
  async clear(): Promise<void> {
    for (const key of await this.#store.keys(`${this.#key}:`)) this.#storedKeys.add(key);
    this.#failed = [];
    this.#isUnsure ||= this.#storedKeys.size > 0;
    this.#setTurns([]);
    await this.#whenStored;
  }

  #change(id: number, fieldsOf: (turn: QueuedTurn) => Partial<TurnState>): void {
    this.#setTurns(
      this.#turns.map((turn) => (turn.id === id ? { ...turn, ...fieldsOf(turn) } : turn)),
    );
  }

  #setTurns(turns: readonly QueuedTurn[]): void {
    this.#turns = turns;
    this.#save();
  }

  /** Writes the turns that wait, after all earlier writes. Does nothing without a change. */
  #save(): void {
    const turns = this.#turns.filter(({ id }) => this.#storedIds.has(id));
    const messages = [...turns, ...this.#failed];
    const text = messages.length ? this.#text(turns) : undefined;
    if (text === this.#storedText && !this.#isUnsure) return;
    this.#storedText = text;
    const entries = messages.flatMap((message) => this.#entriesOf(message));
    const write = (): Promise<void> => this.#write(entries, text);
    this.#whenStored = this.#whenStored.then(write, write);
    // Only the request that adds a turn waits for the write.
    this.#whenStored.catch(() => {});
  }

  /** Writes new messages before the text that names them, and deletes old ones after it. */
  async #write(entries: readonly Entry[], text: string | undefined): Promise<void> {
    const store = this.#store;
    const newEntries = entries.filter(([key]) => this.#isUnsure || !this.#storedKeys.has(key));
    const keys = new Set(entries.map(([key]) => key));
    const oldKeys = [...this.#storedKeys].filter((key) => !keys.has(key));
    this.#isUnsure = true;
    for (const key of keys) this.#storedKeys.add(key);
    if (text !== undefined) await store.setMany([...newEntries, [this.#key, text]]);
    const deletedKeys = text === undefined ? [this.#key, ...oldKeys] : oldKeys;
    if (deletedKeys.length) await store.delete(deletedKeys);
    for (const key of oldKeys) this.#storedKeys.delete(key);
    this.#isUnsure = false;
  }

  #text(turns: readonly QueuedTurn[]): string {
    const valuesOf = (message: QueuedTurn | NumberedFailure): number =>
      this.#entriesOf(message).length;
    return JSON.stringify({
      v: queueVersion,
      turns: turns.map((turn) => ({
        id: turn.id,
        hasBegun: turn.hasBegun,
        attempts: turn.attempts,
        values: valuesOf(turn),
      })),
      failed: this.#failed.map((failure) => ({ id: failure.id, values: valuesOf(failure) })),
      blockedId: this.#blockedId,
    } satisfies StoredQueue);
  }

  #entriesOf(message: QueuedTurn | NumberedFailure): readonly Entry[] {
    const { id } = message;
    const knownEntries = this.#entries.get(id);
    if (knownEntries) return knownEntries;
    const values = splitValue(JSON.stringify(message), this.#store.features.maxValueBytes);
    const keys = this.#keysOf({ id, values: values.length });
    const entries = keys.map((key, index): Entry => [key, values[index]!]);
    this.#entries.set(id, entries);
    return entries;
  }

  #keysOf({ id, values }: StoredMessage): readonly string[] {
    return Array.from({ length: values }, (_, index) => `${this.#key}:${id}:${index}`);
  }
}

/**
 * Returns the content of a JSON text. A process that dies while it writes a file leaves a part of
 * it. Then nobody can read the messages, and the conversation goes on without them.
 */
function parse<T>(textOf: () => string): T | undefined {
  try {
    return JSON.parse(textOf()) as T;
  } catch (cause) {
    const message = 'A message that waits in the session cannot be read, and is lost.';
    logError(new AgentError('STORAGE_FAILED', message, { cause }), 'queue');
    return undefined;
  }
}
