import { AgentError, type KeyValueStore } from '@isoloop/core';
import { logError } from '../../http/error-response.ts';
import type { FailedMessage, NewTurn, QueuedTurn, TurnQueue, TurnState } from './durable-queue.ts';

/** What the store keeps of a queue, as JSON. */
interface StoredTurns {
  readonly v: typeof formatVersion;
  readonly turns: readonly QueuedTurn[];
  readonly blockedId?: number | undefined;
  readonly failed: readonly FailedMessage[];
}

const formatVersion = 1;

/**
 * Unfinished turns of a session, in the memory of the process. A store keeps those that wait for
 * another turn, until their end. After the death of the process, another one continues them.
 */
export class InProcessQueue implements TurnQueue {
  readonly #store: KeyValueStore;
  readonly #key: string;
  #turns: readonly QueuedTurn[] = [];
  #failed: readonly FailedMessage[] = [];
  #blockedId: number | undefined;
  /** Ids of the turns that the store keeps. The client of any other turn waits for its first event. */
  readonly #storedIds: Set<number> = new Set();
  #lastId = 0;
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
    const stored = parseTurns(this.#storedText);
    this.#isUnsure = stored === undefined && this.#storedText !== undefined;
    if (!stored) return;
    const { v, turns, failed, blockedId } = stored;
    if (v !== formatVersion)
      throw new AgentError(
        'STORAGE_FAILED',
        `The queue of the session has format ${String(v)}; this library reads ${formatVersion}.`,
      );
    this.#turns = turns;
    this.#failed = failed;
    this.#blockedId = blockedId;
    for (const { id } of turns) this.#storedIds.add(id);
    this.#lastId = Math.max(0, ...this.#storedIds);
  }

  add(turn: NewTurn, state: TurnState = { hasBegun: false, attempts: 0 }): QueuedTurn {
    const queuedTurn = { ...turn, id: ++this.#lastId, hasBegun: false, attempts: state.attempts };
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

  unblock(): void {
    this.#blockedId = undefined;
    this.#save();
  }

  failedMessages(): readonly FailedMessage[] {
    return this.#failed;
  }

  keepFailed(failed: FailedMessage): void {
    const others = this.#failed.filter(({ message }) => message.id !== failed.message.id);
    this.#failed = [...others, failed];
    this.#save();
  }

  forgetFailed(messageId: string): boolean {
    const others = this.#failed.filter(({ message }) => message.id !== messageId);
    const isKnown = others.length < this.#failed.length;
    this.#failed = others;
    this.#save();
    return isKnown;
  }

  /** Deletes what the store has. */
  async clear(): Promise<void> {
    this.#failed = [];
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
    const text = this.#text();
    if (text === this.#storedText && !this.#isUnsure) return;
    this.#storedText = text;
    const write = async (): Promise<void> => {
      this.#isUnsure = true;
      await (text === undefined
        ? this.#store.delete([this.#key])
        : this.#store.set(this.#key, text));
      this.#isUnsure = false;
    };
    this.#whenStored = this.#whenStored.then(write, write);
    // Only the request that adds a turn waits for the write.
    this.#whenStored.catch(() => {});
  }

  #text(): string | undefined {
    const turns = this.#turns.filter(({ id }) => this.#storedIds.has(id));
    const failed = this.#failed;
    if (!turns.length && !failed.length) return undefined;
    const blockedId = this.#blockedId;
    return JSON.stringify({ v: formatVersion, turns, failed, blockedId } satisfies StoredTurns);
  }
}

/**
 * Returns what the store has. A process that dies while it writes a file leaves a part of the JSON.
 * Then nobody can read the messages, and the conversation goes on without them.
 */
function parseTurns(text: string | undefined): StoredTurns | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as StoredTurns;
  } catch (cause) {
    const message = 'The messages that wait in the session cannot be read, and are lost.';
    logError(new AgentError('STORAGE_FAILED', message, { cause }), 'queue');
    return undefined;
  }
}
