import type { AgentError } from '@isoloop/core';
import type { BranchLogOptions } from './branch-log.ts';
import { makeBranch, type Branch } from './branch.ts';
import {
  addToLevels,
  isDamage,
  makeRef,
  parseBatch,
  parseSealed,
  suffixOf,
  turnIdOf,
  type Batch,
  type CachedBatches,
  type Head,
  type SessionStore,
} from '@isoloop/core/log';

export type BranchReaderOptions = Pick<BranchLogOptions, 'now' | 'staleMs' | 'onDamage' | 'cache'>;

/** The head in the store as text, and its branch. */
export interface SeenHead {
  readonly text: string | undefined;
  readonly branch?: Branch | undefined;
}

/** Maximum number of writes of one turn. Each write uses a new key. */
export const maxTurnWrites = 8;

/**
 * Returns the id of a turn for its next write, after `failures` failed writes. Each write has its
 * own id, so that it overwrites no earlier write.
 */
export function attemptId(turnId: string, failures: number): string {
  return failures ? `${turnId}_${failures}` : turnId;
}

/**
 * Reads a branch of a session by the stored head, by the last batch of the branch, or by the turn
 * that wrote this batch.
 */
export class BranchReader {
  readonly #store: SessionStore;
  readonly #options: BranchReaderOptions;

  constructor(store: SessionStore, options: BranchReaderOptions) {
    this.#store = store;
    this.#options = options;
  }

  /**
   * Reads the branch of the stored head. `cachedBatches`: batches that are not read again. If the
   * head is older than `staleMs`, missing batches count as damaged.
   */
  async readHead(cachedBatches?: ReadonlyMap<string, Batch>): Promise<SeenHead> {
    const text = await this.#store.head();
    const { head } = await this.#store.parseHead(text);
    if (!head) return { text };
    const { now, staleMs } = this.#options;
    const branch = await this.readBranch(head, cachedBatches);
    const mayCome = branch.hasMissing && now() - head.updatedAt <= staleMs;
    return { text, branch: { ...branch, hasMissing: mayCome } };
  }

  /**
   * Reads the branch that ends with this batch, without the stored head. Returns `undefined` if the
   * batch is missing, damaged or contains no head. Reports a damaged batch.
   */
  async readTip(ref: string): Promise<Branch | undefined> {
    if (turnIdOf(ref) === undefined) return undefined;
    const values = (await this.#store.readValues([ref])).get(ref);
    if (!values) return undefined;
    try {
      return await this.#endingWith(ref, parseBatch(this.#store.keys, ref, values));
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.report(error);
      return undefined;
    }
  }

  /** Passes an error to `onDamage`. Throws the error if there is no `onDamage`. */
  report(error: AgentError): void {
    const { onDamage } = this.#options;
    if (!onDamage) throw error;
    onDamage(error);
  }

  /**
   * Returns the branch that ends with the last write of a turn. `undefined` if the turn was not
   * written.
   */
  async readTurn(turnId: string): Promise<Branch | undefined> {
    const ids = Array.from({ length: maxTurnWrites }, (_, failures) => attemptId(turnId, failures));
    const { keys, kv } = this.#store;
    const firstValues = await kv.getMany(ids.map((id) => keys.turn(id)));
    const id = ids.findLast((each) => firstValues.has(keys.turn(each)));
    return id === undefined ? undefined : this.parseTurn(id, firstValues.get(keys.turn(id))!);
  }

  /**
   * Parses the batch of one write of a turn, and reads the branch that ends with it. `firstValue`:
   * first value of the batch. Reads the other values.
   */
  async parseTurn(id: string, firstValue: string): Promise<Branch | undefined> {
    const values = [firstValue];
    // A part of a batch is a JSON string. A whole batch is a JSON object.
    while (firstValue.startsWith('"')) {
      const next = await this.#store.kv.get(`${this.#store.keys.turn(id)}:${values.length}`);
      if (next === undefined) break;
      values.push(next);
    }
    const batch = parseSealed<Batch>(this.#store.keys.turn(id), values);
    const name = makeRef(batch.head?.version ?? 0, id, '.');
    const ref = name + suffixOf(batch.sum, values.length);
    return this.#endingWith(ref, batch);
  }

  /**
   * Adds a batch that was just written to the cache, so that the next turn does not read it. Parses
   * the text, because the run can still change its own objects.
   */
  keep(ref: string, text: string): void {
    this.#cachedBatches().add?.(ref, JSON.parse(text) as Batch, text.length);
  }

  async #endingWith(ref: string, batch: Batch): Promise<Branch | undefined> {
    if (!batch.head) return undefined;
    const covered = [...(batch.index ?? []), ...(batch.replaces ?? [])];
    const head = { ...batch.head, last: ref, refs: addToLevels(batch.head.refs, covered, ref) };
    const branch = await this.readBranch(head, new Map([[ref, batch]]));
    return branch.hasMissing ? undefined : branch;
  }

  /** Reads the branch that this head describes. */
  async readBranch(head: Head, cached?: ReadonlyMap<string, Batch>): Promise<Branch> {
    return makeBranch(head, await this.#store.readBatches(head, this.#cachedBatches(cached)));
  }

  #cachedBatches(batches: ReadonlyMap<string, Batch> = new Map()): CachedBatches {
    const { cache } = this.#options;
    // The cache must not return batches that have expired in the store.
    if (!cache || this.#store.kv.features.expires) return batches;
    const keyOf = (ref: string): string => this.#store.keys.batch(ref)[0]!;
    return {
      get: (ref) => batches.get(ref) ?? cache.get(keyOf(ref)),
      add: (ref, batch, characters) => cache.set(keyOf(ref), batch, characters),
    };
  }
}
