import { has, nameOf, type Branch } from './branch.ts';
import type { BranchReader } from './branch-reader.ts';
import type { Echo, Tip } from './session-echo.ts';
import { turnOf } from '../log/session-format.ts';

/**
 * Where a client's echo and the store's head disagree: the branch of each, as far as it can be
 * read.
 */
export interface Fork {
  readonly yours?: Branch | undefined;
  readonly theirs?: Branch | undefined;
}

/** What the store shows, seen from an echo. */
export type Verdict =
  /**
   * `seen`: the head's text; `isOwn`: the branch is the client's, and not the one that the head
   * names.
   */
  | {
      readonly type: 'go';
      readonly branch: Branch | undefined;
      readonly seen: string | undefined;
      readonly isOwn: boolean;
    }
  | { readonly type: 'stale' }
  | { readonly type: 'fork'; readonly fork: Fork; readonly mayBeStale: boolean };

/** Of an echo, with what is known to be settled left out. */
export interface Case extends Pick<Echo, 'at' | 'base' | 'turnId'> {
  /** The turns whose outcome the client has not seen, the last one first. */
  readonly left: NonNullable<Echo['left']>;
  readonly over: readonly Tip[];
  /** Whether the echo is older than any read may be. */
  readonly isOld: boolean;
}

/** Reads what there is and says how to go on from it. */
export async function judge(
  reader: BranchReader,
  { at, base, turnId, left, over, isOld }: Case,
): Promise<Verdict> {
  // A session that began with this turn: nothing is read but what the turn itself may have written.
  const begun = base ? [] : await readTurns(reader, left);
  if (!base && begun.length === 0)
    return { type: 'go', branch: undefined, seen: undefined, isOwn: false };

  const { text: seen, branch: shown } = await reader.head();
  if (shown?.missing) return { type: 'stale' };
  const unknown = left.filter(([id]) => !shown?.names.has(id));
  const found = base
    ? await readTurns(reader, unknown)
    : begun.filter(({ tip }) => !has(shown, tip));
  const isShown = base ? has(shown, base) : found.length < begun.length;
  let own = isShown ? shown : base && (await reader.tip(base));
  let isTurn = false;
  for (const turn of found) {
    if (has(own, turn.tip)) continue;
    if (own ? has(turn, own.tip) : !base || has(turn, base)) {
      own = turn;
      isTurn = true;
      continue;
    }
    if (!own) break;
    if (await isOverruled(reader, turn, over)) continue;
    const isLast = nameOf(turn.tip.ref) === turnId;
    return {
      type: 'fork',
      fork: isLast ? { yours: turn, theirs: own } : { yours: own, theirs: turn },
      mayBeStale: false,
    };
  }
  if (!own) return withoutOwn(base!, shown, isOld);
  if (has(shown, own.tip)) return { type: 'go', branch: shown, seen, isOwn: false };
  const go: Verdict = { type: 'go', branch: own, seen, isOwn: true };
  // The head of a turn that was left may never have been written; any other was, and shows sooner
  // or later.
  if (!shown || has(own, shown.tip)) return isTurn || isOld ? go : { type: 'stale' };
  if (await isOverruled(reader, shown, over)) return go;
  return {
    type: 'fork',
    fork: { yours: own, theirs: shown },
    mayBeStale: !isOld && shown.head.updatedAt < at,
  };
}

/** Whether a client has decided against this branch, or a later state of it. */
export async function isOverruled(
  reader: BranchReader,
  { tip }: Branch,
  over: readonly Tip[],
): Promise<boolean> {
  for (const other of over) {
    if (nameOf(other.ref) === nameOf(tip.ref) || has(await reader.tip(other), tip)) return true;
  }
  return false;
}

/**
 * Where the client's own branch can't be read: it is cleared, expired, not there yet, or of a log
 * that was written without echoes.
 */
function withoutOwn(base: Tip, shown: Branch | undefined, isOld: boolean): Verdict {
  const mayCome = turnOf(base.ref) !== undefined || !shown || shown.tip.ref <= base.ref;
  if (mayCome && !isOld) return { type: 'stale' };
  return { type: 'fork', fork: { theirs: shown }, mayBeStale: !isOld };
}

async function readTurns(reader: BranchReader, turns: Case['left']): Promise<readonly Branch[]> {
  const found: Branch[] = [];
  for (const [id] of turns) {
    const branch = await reader.turn(id);
    if (branch) found.push(branch);
  }
  return found;
}
