import type { AgentError } from '../../error/agent-error.ts';
import { containsTip, batchIdOf, type Branch } from './branch.ts';
import type { BranchReader } from './branch-reader.ts';
import type { Echo, Tip } from './session-echo.ts';
import { turnIdOf } from '../log/session-keys.ts';
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
   * Continue from `branch`. `headText`: text of the stored head. `isFromEcho`: whether the branch
   * comes from the client's echo and not from the stored head.
   */
  | {
      readonly type: 'continue';
      readonly branch?: Branch | undefined;
      readonly headText?: string | undefined;
      readonly isFromEcho: boolean;
    }
  | { readonly type: 'stale' }
  | { readonly type: 'fork'; readonly fork: Fork; readonly mayBeStale: boolean };

/** The content of the client's echo, and facts about its turns. */
export interface EchoFacts extends Pick<Echo, 'issuedAt' | 'base' | 'turnId'> {
  /** Turns whose outcome the client has not seen, the last one first. */
  readonly unseenTurns: NonNullable<Echo['unseenTurns']>;
  readonly overruledTips: readonly Tip[];
  /** Whether the echo is so old that the store no longer shows older states. */
  readonly isOld: boolean;
}

/** Reads the store and decides how to continue the session. */
export async function compareEcho(reader: BranchReader, facts: EchoFacts): Promise<Comparison> {
  const { issuedAt, base, unseenTurns, overruledTips, isOld } = facts;
  // Without a base, the client's own turns began the session, so read only these turns.
  const firstTurns = await readTurns(reader, base ? [] : unseenTurns);
  if (!base && firstTurns.branches.length === 0 && firstTurns.damages.size === 0) return emptyStart;

  const { text: headText, branch: theirs } = await reader.readHead();
  if (theirs?.hasMissing) return { type: 'stale' };
  const continueFrom = (branch: Branch, isFromEcho: boolean): Comparison => ({
    type: 'continue',
    branch,
    headText,
    isFromEcho,
  });
  const isInHead = (id: string): boolean => theirs?.batchIds.has(id) === true;
  const turnsOutsideHead = unseenTurns.filter(([id]) => !isInHead(id));
  let turns = firstTurns;
  if (base) turns = await readTurns(reader, turnsOutsideHead);
  const turnsAhead = turns.branches.filter(({ tip }) => !containsTip(theirs, tip));
  const damages = [...turns.damages].filter(([id]) => !isInHead(id));
  for (const [, error] of damages) reader.report(error);
  if (theirs && mayHide(theirs, base, turnsAhead)) return continueFrom(theirs, false);

  /** Decides between the client's branch and the branch of the stored head. */
  const compare = async (yours: Branch | undefined): Promise<Comparison> => {
    if (!yours) return base ? withoutClientBranch(base, theirs, isOld) : emptyStart;
    if (theirs && containsTip(theirs, yours.tip)) return continueFrom(theirs, false);
    // A turn that the client left may never have written its head. Every other head was written, so
    // the store will show it later.
    if (!theirs || containsTip(yours, theirs.tip))
      return isOld || turnsAhead.includes(yours) ? continueFrom(yours, true) : { type: 'stale' };
    if (await isOverruled(reader, theirs, overruledTips)) return continueFrom(yours, true);
    const mayBeStale = !isOld && theirs.head.updatedAt < issuedAt;
    return { type: 'fork', fork: { yours, theirs }, mayBeStale };
  };
  let start = theirs;
  if (!hasStart(theirs, base, turns)) start = base && (await reader.readTip(base));
  const yours = await follow(reader, start, turnsAhead, facts);
  return yours && 'type' in yours ? yours : compare(yours);
}

const emptyStart: Comparison = { type: 'continue', isFromEcho: false };

/** Returns whether a branch has the state from which the client continued. */
function hasStart(theirs: Branch | undefined, base: Tip | undefined, turns: Turns): boolean {
  if (base) return containsTip(theirs, base);
  const isDamaged = [...turns.damages.keys()].some((id) => theirs?.batchIds.has(id));
  return isDamaged || turns.branches.some(({ tip }) => containsTip(theirs, tip));
}

/**
 * Follows the client's turns from the state where they began. Returns the client's branch, or two
 * turns that contradict each other.
 */
async function follow(
  reader: BranchReader,
  start: Branch | undefined,
  turns: readonly Branch[],
  { base, turnId, overruledTips }: EchoFacts,
): Promise<Branch | Comparison | undefined> {
  let yours = start;
  for (const turn of turns) {
    if (containsTip(yours, turn.tip)) continue;
    if (yours ? containsTip(turn, yours.tip) : !base || containsTip(turn, base)) {
      yours = turn;
      continue;
    }
    if (!yours) break;
    if (await isOverruled(reader, turn, overruledTips)) continue;
    const isLast = batchIdOf(turn.tip.ref) === turnId;
    const fork = isLast ? { yours: turn, theirs: yours } : { yours, theirs: turn };
    return { type: 'fork', fork, mayBeStale: false };
  }
  return yours;
}

/**
 * Returns whether the unreadable batches of a branch may contain a state of the client that the
 * readable batches lack. If the session continues from the branch, the unreadable batches are
 * reported.
 */
function mayHide(theirs: Branch, base: Tip | undefined, turns: readonly Branch[]): boolean {
  const tips = turns.filter((turn) => !containsTip(turn, theirs.tip)).map(({ tip }) => tip);
  return (
    theirs.unread.length > 0 &&
    [...(base ? [base] : []), ...tips].some((tip) => !containsTip(theirs, tip))
  );
}

/**
 * Returns whether the client decided against this branch or against a later state of the branch.
 */
export async function isOverruled(
  reader: BranchReader,
  { tip }: Branch,
  overruledTips: readonly Tip[],
): Promise<boolean> {
  for (const other of overruledTips) {
    if (
      batchIdOf(other.ref) === batchIdOf(tip.ref) ||
      containsTip(await reader.readTip(other), tip)
    )
      return true;
  }
  return false;
}

/**
 * Decides how to continue if the client's own branch can't be read. The branch was cleared, has
 * expired, is not in the store yet, or comes from a log without echoes.
 */
function withoutClientBranch(base: Tip, theirs: Branch | undefined, isOld: boolean): Comparison {
  const mayCome = turnIdOf(base.ref) !== undefined || !theirs || theirs.tip.ref <= base.ref;
  if (mayCome && !isOld) return { type: 'stale' };
  return { type: 'fork', fork: { theirs }, mayBeStale: !isOld };
}

interface Turns {
  readonly branches: readonly Branch[];
  /** Errors of turns that can't be read, by the turn's id. */
  readonly damages: ReadonlyMap<string, AgentError>;
}

async function readTurns(reader: BranchReader, turns: EchoFacts['unseenTurns']): Promise<Turns> {
  const branches: Branch[] = [];
  const damages = new Map<string, AgentError>();
  for (const [id] of turns) {
    try {
      const branch = await reader.readTurn(id);
      if (branch) branches.push(branch);
    } catch (error) {
      if (!isDamage(error)) throw error;
      damages.set(id, error);
    }
  }
  return { branches, damages };
}
