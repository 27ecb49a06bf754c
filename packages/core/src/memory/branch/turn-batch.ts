import { digest } from '../log/integrity/digest.ts';
import { takeOver } from '../log/format/place-ref.ts';
import { seal } from '../log/integrity/seal.ts';
import { formatVersion, makeTurnRef, suffixOf } from '../log/format/session-format.ts';
import type { Batch, Head, SessionKeys } from '../log/format/session-format.ts';
import { splitValue } from '../log/format/split-value.ts';
import type { Merged } from './branch-merge.ts';

/** The content that a turn writes. */
export interface Turn extends Merged {
  /** Id in the key. Each attempt to write the turn has its own id. */
  readonly id: string;
  /** Hash in the previous head. */
  readonly prev: string;
  /** The new head, but with the refs of the previous head. */
  readonly made: Omit<Head, 'hash' | 'v'>;
}

type Entry = readonly [key: string, value: string];

/** A turn's batch and the head that names it, as they are stored. */
export interface TurnBatch {
  readonly ref: string;
  readonly batch: Batch;
  /** The batch as JSON with its checksum. */
  readonly text: string;
  /** The batch's values in the order to write them. */
  readonly entries: readonly Entry[];
  readonly head: Head;
  readonly headEntry: Entry;
}

/** Makes a turn's batch and head. */
export async function makeTurnBatch(
  keys: SessionKeys,
  { id, prev, made, records, index, replaces }: Turn,
  maxValueBytes: number,
): Promise<TurnBatch> {
  const batch: Batch = {
    v: formatVersion,
    prev,
    records,
    ...(index.length > 0 && { index }),
    ...(replaces.length > 0 && { replaces }),
    head: { v: formatVersion, ...made },
  };
  const name = makeTurnRef(made.version, id);
  const { text, sum } = seal(batch, keys.place(name));
  const values = splitValue(text, maxValueBytes);
  const ref = name + suffixOf(sum, values.length);
  const taken = replaces.length > 0 ? replaces : index;
  const refs = takeOver(made.refs, taken, ref);
  const head: Head = { v: formatVersion, ...made, refs, hash: await digest(text) };
  // A reader that finds the first value expects all other values, so the first value is written
  // last.
  const entries = keys
    .batch(ref)
    .map((key, part): Entry => [key, values[part] ?? ''])
    .toReversed();
  return { ref, batch, text, entries, head, headEntry: [keys.head, seal(head, keys.head).text] };
}
