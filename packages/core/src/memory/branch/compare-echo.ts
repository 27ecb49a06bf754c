import type { AgentError } from '../../error/agent-error.ts';
import { containsTip, nameOf, type Branch } from './branch.ts';
import type { BranchReader } from './branch-reader.ts';
import type { Echo, Tip } from './session-echo.ts';
import { turnOf } from '../log/session-keys.ts';
import { isDamage } from '../log/stored-batch.ts';

/**
 * Two branches that continue the session in different ways. `yours`: the branch of the client's
 * echo. `theirs`: the branch of the stored head. A branch that can't be read is `undefined`.
 */
export interface Fork {
  readonly yours?: Branch | undefined;
  readonly theirs?: Branch | undefined;
}

/**
 * Decision on how to continue, after a comparison of the client's echo with the store. `stale`: the
 * store shows a state that is too old. `fork`: the echo and the head are on different branches.
 */
export type Comparison =
  /**
   * Continue from `branch`. `seen`: text of the stored head. `isOwn`: whether the branch comes from
   * the client's echo and not from the stored head.
   */
  | {
      readonly type: 'go';
      readonly branch: Branch | undefined;
      readonly seen: string | undefined;
      readonly isOwn: boolean;
    }
  | { readonly type: 'stale' }
  | { readonly type: 'fork'; readonly fork: Fork; readonly mayBeStale: boolean };

/** The content of the client's echo, and facts about its turns. */
export interface EchoFacts extends Pick<Echo, 'at' | 'base' | 'turnId'> {
  /** Turns whose outcome the client has not seen, the last one first. */
  readonly left: NonNullable<Echo['left']>;
  readonly over: readonly Tip[];
  /** Whether the echo is so old that the store no longer shows older states. */
  readonly isOld: boolean;
}

/** Reads the store and decides how to continue the session. */
export async function compareEcho(reader: BranchReader, facts: EchoFacts): Promise<Comparison> {
  const { at, base, left, over, isOld } = facts;
  // Without a base, the client's own turns began the session, so read only these turns.
  const begun = await readTurns(reader, base ? [] : left);
  if (!base && begun.found.length === 0 && begun.damages.size === 0) return nothing;

  const { text: seen, branch: shown } = await reader.head();
  if (shown?.missing) return { type: 'stale' };
  const proceed = (branch: Branch, isOwn: boolean): Comparison => ({
    type: 'go',
    branch,
    seen,
    isOwn,
  });
  const isInHead = (id: string): boolean => shown?.names.has(id) === true;
  const unknown = left.filter(([id]) => !isInHead(id));
  let turns = begun;
  if (base) turns = await readTurns(reader, unknown);
  const found = turns.found.filter(({ tip }) => !containsTip(shown, tip));
  const damages = [...turns.damages].filter(([id]) => !isInHead(id));
  for (const [, error] of damages) reader.report(error);
  if (shown && mayHide(shown, base, found)) return proceed(shown, false);

  /** Decides between the client's branch and the branch of the stored head. */
  const compare = async (own: Branch | undefined): Promise<Comparison> => {
    if (!own) return base ? withoutOwn(base, shown, isOld) : nothing;
    if (shown && containsTip(shown, own.tip)) return proceed(shown, false);
    // A turn that the client left may never have written its head. Every other head was written, so
    // the store will show it later.
    if (!shown || containsTip(own, shown.tip))
      return isOld || found.includes(own) ? proceed(own, true) : { type: 'stale' };
    if (await isOverruled(reader, shown, over)) return proceed(own, true);
    const mayBeStale = !isOld && shown.head.updatedAt < at;
    return { type: 'fork', fork: { yours: own, theirs: shown }, mayBeStale };
  };
  let start = shown;
  if (!hasStart(shown, base, turns)) start = base && (await reader.tip(base));
  const own = await follow(reader, start, found, facts);
  return own && 'type' in own ? own : compare(own);
}

const nothing: Comparison = { type: 'go', branch: undefined, seen: undefined, isOwn: false };

/** Returns whether a branch has the state from which the client continued. */
function hasStart(shown: Branch | undefined, base: Tip | undefined, turns: Turns): boolean {
  if (base) return containsTip(shown, base);
  const isDamaged = [...turns.damages.keys()].some((id) => shown?.names.has(id));
  return isDamaged || turns.found.some(({ tip }) => containsTip(shown, tip));
}

/**
 * Follows the client's turns from the state where they began. Returns the client's branch, or two
 * turns that contradict each other.
 */
async function follow(
  reader: BranchReader,
  start: Branch | undefined,
  turns: readonly Branch[],
  { base, turnId, over }: EchoFacts,
): Promise<Branch | Comparison | undefined> {
  let own = start;
  for (const turn of turns) {
    if (containsTip(own, turn.tip)) continue;
    if (own ? containsTip(turn, own.tip) : !base || containsTip(turn, base)) {
      own = turn;
      continue;
    }
    if (!own) break;
    if (await isOverruled(reader, turn, over)) continue;
    const isLast = nameOf(turn.tip.ref) === turnId;
    const fork = isLast ? { yours: turn, theirs: own } : { yours: own, theirs: turn };
    return { type: 'fork', fork, mayBeStale: false };
  }
  return own;
}

/**
 * Returns whether the unreadable batches of a branch may contain a state of the client that the
 * readable batches lack. If the session continues from the branch, the unreadable batches are
 * reported.
 */
function mayHide(shown: Branch, base: Tip | undefined, turns: readonly Branch[]): boolean {
  const tips = turns.filter((turn) => !containsTip(turn, shown.tip)).map(({ tip }) => tip);
  return (
    shown.unread.length > 0 &&
    [...(base ? [base] : []), ...tips].some((tip) => !containsTip(shown, tip))
  );
}

/**
 * Returns whether the client decided against this branch or against a later state of the branch.
 */
export async function isOverruled(
  reader: BranchReader,
  { tip }: Branch,
  over: readonly Tip[],
): Promise<boolean> {
  for (const other of over) {
    if (nameOf(other.ref) === nameOf(tip.ref) || containsTip(await reader.tip(other), tip))
      return true;
  }
  return false;
}

/**
 * Decides how to continue if the client's own branch can't be read. The branch was cleared, has
 * expired, is not in the store yet, or comes from a log without echoes.
 */
function withoutOwn(base: Tip, shown: Branch | undefined, isOld: boolean): Comparison {
  const mayCome = turnOf(base.ref) !== undefined || !shown || shown.tip.ref <= base.ref;
  if (mayCome && !isOld) return { type: 'stale' };
  return { type: 'fork', fork: { theirs: shown }, mayBeStale: !isOld };
}

interface Turns {
  readonly found: readonly Branch[];
  /** Errors of turns that can't be read, by the turn's id. */
  readonly damages: ReadonlyMap<string, AgentError>;
}

async function readTurns(reader: BranchReader, turns: EchoFacts['left']): Promise<Turns> {
  const found: Branch[] = [];
  const damages = new Map<string, AgentError>();
  for (const [id] of turns) {
    try {
      const branch = await reader.turn(id);
      if (branch) found.push(branch);
    } catch (error) {
      if (!isDamage(error)) throw error;
      damages.set(id, error);
    }
  }
  return { found, damages };
}
