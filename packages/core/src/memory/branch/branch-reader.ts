import type { AgentError } from '../../error/agent-error.ts';
import type { BatchCache } from '../log/batch-cache.ts';
import { readBatches, type KnownBatches } from '../log/batch-reader.ts';
import { nameOf, type Branch } from './branch.ts';
import { digest } from '../log/digest.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { takeOver } from '../log/place-ref.ts';
import type { Tip } from './session-echo.ts';
import {
  formatVersion,
  makeTurnRef,
  parseBatch,
  parseHead,
  turnOf,
  type Batch,
  type Head,
  type SessionKeys,
} from '../log/session-format.ts';
import { replacedBy } from '../log/session-log.ts';
import { joinValue } from '../log/split-value.ts';

export interface BranchReaderOptions {
  readonly now: () => number;
  /** Maximum age of a read, in milliseconds. */
  readonly staleMs: number;
  readonly onDamage?: ((error: AgentError) => void) | undefined;
  readonly cache?: BatchCache | undefined;
}

/** The head that the store shows now. */
export interface SeenHead {
  readonly text: string | undefined;
  readonly branch?: Branch;
}

/** Number of times a turn may be written, each time under a key of its own. */
export const maxAttempts = 8;

/**
 * Returns a turn's id for its write after `failed` ones. The id differs, so what those wrote is
 * never overwritten.
 */
export function attemptId(turnId: string, failed: number): string {
  return failed ? `${turnId}_${failed}` : turnId;
}

/** Finds a session's branches by the head, by their last batch or by the turn that wrote it. */
export class BranchReader {
  readonly #store: KeyValueStore;
  readonly #keys: SessionKeys;
  readonly #options: BranchReaderOptions;

  constructor(store: KeyValueStore, keys: SessionKeys, options: BranchReaderOptions) {
    this.#store = store;
    this.#keys = keys;
    this.#options = options;
  }

  /**
   * Reads the branch of the store's head. If the head is older than `staleMs`, missing batches
   * count as damage: calls `onDamage`, or rejects without it.
   */
  async head(known?: ReadonlyMap<string, Batch>): Promise<SeenHead> {
    const text = await this.#store.get(this.#keys.head);
    if (text === undefined) return { text };
    const { onDamage, now, staleMs } = this.#options;
    const head = parseHead(text);
    const branch = await this.#read(head, known);
    if (branch.missing && now() - head.updatedAt <= staleMs) return { text, branch };
    for (const { error } of branch.unread) {
      if (!onDamage) throw error;
      onDamage(error);
    }
    return { text, branch: { ...branch, missing: false } };
  }

  /**
   * Reads a branch from its batches alone. Returns `undefined` if the last batch is missing, is not
   * the signed one or holds no head.
   */
  async tip({ ref, hash }: Tip): Promise<Branch | undefined> {
    const names = this.#keys.batch(ref);
    const values = await this.#store.getMany(names);
    const found = names.flatMap((name) => values.get(name) ?? []);
    if (
      turnOf(ref) === undefined ||
      found.length < names.length ||
      (await digest(joinValue(found))) !== hash
    )
      return undefined;
    return this.#endingWith(ref, parseBatch(found), hash);
  }

  /** Returns the branch that a turn's last write made; `undefined` if there is none. */
  async turn(turnId: string): Promise<Branch | undefined> {
    const ids = Array.from({ length: maxAttempts }, (_, failed) => attemptId(turnId, failed));
    const firsts = new Map(ids.map((id) => [id, this.#keys.batch(makeTurnRef(0, id, 1))[0]!]));
    const written = await this.#store.getMany([...firsts.values()]);
    const id = ids.findLast((each) => written.has(firsts.get(each)!));
    if (id === undefined) return undefined;
    const first = firsts.get(id)!;
    const values = [written.get(first)!];
    // A part of a batch is a JSON string; a whole batch is an object.
    const isSplit = values[0]!.startsWith('"');
    while (isSplit) {
      const value = await this.#store.get(`${first}:${values.length}`);
      if (value === undefined) break;
      values.push(value);
    }
    try {
      const batch = parseBatch(values);
      const ref = makeTurnRef(batch.head?.version ?? 0, id, values.length);
      return await this.#endingWith(ref, batch, await digest(joinValue(values)));
    } catch (error) {
      // The writer stopped between two parts.
      if (isSplit) return undefined;
      throw error;
    }
  }

  async #endingWith(ref: string, batch: Batch, hash: string): Promise<Branch | undefined> {
    if (!batch.head) return undefined;
    const taken = [...(batch.index ?? []), ...(batch.replaces ?? [])];
    const head: Head = {
      ...batch.head,
      v: formatVersion,
      hash,
      refs: takeOver(batch.head.refs, taken, ref),
    };
    const branch = await this.#read(head, new Map([[ref, batch]]));
    return branch.missing ? undefined : branch;
  }

  async #read(head: Head, known: ReadonlyMap<string, Batch> = new Map()): Promise<Branch> {
    const refs = head.refs.flat();
    const { batches, unread } = await readBatches(
      this.#store,
      this.#keys,
      refs,
      this.#known(known),
    );
    const ref = refs.reduce((last, each) => (last < each ? each : last), '');
    return {
      head,
      tip: { ref, hash: head.hash, chain: head.chain },
      batches,
      names: new Set(
        [...batches.keys(), ...unread.map((each) => each.ref), ...replacedBy(batches)].map(nameOf),
      ),
      unread,
      missing: unread.some(({ error }) => error.retryable),
    };
  }

  #known(known: ReadonlyMap<string, Batch>): KnownBatches {
    const { cache } = this.#options;
    // The cache must not return batches that have expired in the store.
    if (!cache || this.#store.features.expires) return known;
    const keyOf = (ref: string): string => this.#keys.batch(ref)[0]!;
    return {
      get: (ref) => known.get(ref) ?? cache.get(keyOf(ref)),
      add: (ref, batch, characters) => cache.set(keyOf(ref), batch, characters),
    };
  }
}
