import type { UnreadBatch } from '../log/batch-reader.ts';
import type { Flushes } from '../log/log-record.ts';
import type { Tip } from './session-echo.ts';
import { turnOf, type Batch, type Head } from '../log/session-format.ts';
import { replacedBy } from '../log/session-log.ts';

/** A session's log as one of its heads names it. */
export interface Branch {
  readonly head: Head;
  readonly tip: Tip;
  readonly batches: ReadonlyMap<string, Batch>;
  /** Its batches and all that its snapshots stand for, see `nameOf`. */
  readonly names: ReadonlySet<string>;
  /** What of it can't be read; `missing`: not in the store, or not yet. */
  readonly unread: readonly UnreadBatch[];
  readonly missing: boolean;
}

/** What a batch goes by: its turn, which stays the same wherever in the log it is put. */
export function nameOf(ref: string): string {
  return turnOf(ref) ?? ref;
}

/** Whether a branch has gone on from this state. */
export function has(branch: Branch | undefined, { ref }: Tip): boolean {
  return branch?.names.has(nameOf(ref)) === true;
}

/** In the order they were written, without what a snapshot stands for. */
export function recordsOf({ batches }: Pick<Branch, 'batches'>): Flushes {
  const replaced = replacedBy(batches);
  const left = [...batches]
    .filter(([ref]) => !replaced.has(ref))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return left.map(([, { records }]) => records);
}

/** All that a batch stands for which has these put together in it. */
export function standsFor({ batches }: Pick<Branch, 'batches'>): readonly string[] {
  return [...new Set([...batches.keys(), ...replacedBy(batches)])];
}
