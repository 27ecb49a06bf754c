import { seal } from '../log/seal.ts';
import { makeRef } from '../log/session-keys.ts';
import type { SessionStore } from '../log/session-store.ts';
import { formatVersion, type Batch } from '../log/stored-batch.ts';
import { takeOver, type Head } from '../log/stored-head.ts';
import type { Entry } from '../store/key-value-store.ts';
import { makeBranch, type Branch } from './branch.ts';
import type { Merged } from './branch-merge.ts';
import { digest } from './digest.ts';

/** The write of one turn, and the branch after it. */
interface TurnWrite {
  readonly ref: string;
  /** The batch as JSON with its checksum. */
  readonly text: string;
  /**
   * Values of the batch, the first one last: a reader that finds the first value expects all other
   * values.
   */
  readonly values: readonly Entry[];
  readonly head: Entry;
  readonly branch: Branch;
}

/**
 * Makes the write of a turn. `id`: id of the turn. `made`: the new head, but with the refs of the
 * previous head.
 */
export async function makeTurn(
  store: SessionStore,
  before: Branch | undefined,
  { records, index, replaces }: Merged,
  { id, made }: { readonly id: string; readonly made: Omit<Head, 'hash'> },
): Promise<TurnWrite> {
  const batch: Batch = {
    v: formatVersion,
    prev: before?.head.hash ?? '',
    records,
    ...(index.length > 0 && { index }),
    ...(replaces.length > 0 && { replaces }),
    head: made,
  };
  const { ref, text, entries } = store.seal(makeRef(made.version, id, '.'), batch);
  const refs = takeOver(made.refs, replaces.length > 0 ? replaces : index, ref);
  const head: Head = { ...made, refs, hash: await digest(text) };
  const key = store.keys.head;
  const batches = new Map([...(before?.batches ?? []), [ref, batch]]);
  for (const replaced of replaces) batches.delete(replaced);
  return {
    ref,
    text,
    values: entries.toReversed(),
    head: [key, seal(head, key).text],
    branch: makeBranch(head, { batches, unread: before?.unread ?? [] }),
  };
}
