import type { AgentError } from '@isoloop/core';
import { containsTip, batchIdOf, type Branch } from './branch.ts';
import type { BranchReader } from './branch-reader.ts';
import type { Echo } from './session-echo.ts';
import { isDamage, turnIdOf } from '@isoloop/core/log';

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
  readonly overruledTips: readonly string[];
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
  let turnBranches = firstTurns;
  if (base) turnBranches = await readTurns(reader, turnsOutsideHead);
  const turnsAhead = turnBranches.branches.filter(({ head }) => !containsTip(theirs, head.last));
  const damages = [...turnBranches.damages].filter(([id]) => !isInHead(id));
  for (const [, error] of damages) reader.report(error);
  if (theirs && mayHide(theirs, base, turnsAhead)) return continueFrom(theirs, false);

  /** Decides between the client's branch and the branch of the stored head. */
  const compare = async (yours: Branch | undefined): Promise<Comparison> => {
    if (!yours) return base ? decideWithoutClientBranch(base, theirs, isOld) : emptyStart;
    if (theirs && containsTip(theirs, yours.head.last)) return continueFrom(theirs, false);
    // A turn that the client left may never have written its head. Every other head was written, so
    // the store will show it later.
    if (!theirs || containsTip(yours, theirs.head.last))
      return isOld || turnsAhead.includes(yours) ? continueFrom(yours, true) : { type: 'stale' };
    if (await isOverruled(reader, theirs, overruledTips)) return continueFrom(yours, true);
    const mayBeStale = !isOld && theirs.head.updatedAt < issuedAt;
    return { type: 'fork', fork: { yours, theirs }, mayBeStale };
  };
  const start = await readStart(reader, theirs, base, turnBranches);
  const yours = await follow(reader, start, turnsAhead, facts);
  return yours && 'type' in yours ? yours : compare(yours);
}

const emptyStart: Comparison = { type: 'continue', isFromEcho: false };

/** Returns the branch with the state from which the client continued. */
async function readStart(
  reader: BranchReader,
  theirs: Branch | undefined,
  base: string | undefined,
  turnBranches: TurnBranches,
): Promise<Branch | undefined> {
  if (base) return containsTip(theirs, base) ? theirs : reader.readTip(base);
  const isDamaged = [...turnBranches.damages.keys()].some((id) => theirs?.batchIds.has(id));
  const hasTurn = turnBranches.branches.some(({ head }) => containsTip(theirs, head.last));
  return isDamaged || hasTurn ? theirs : undefined;
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
    if (containsTip(yours, turn.head.last)) continue;
    if (yours ? containsTip(turn, yours.head.last) : !base || containsTip(turn, base)) {
      yours = turn;
      continue;
    }
    if (!yours) break;
    if (await isOverruled(reader, turn, overruledTips)) continue;
    const isLast = batchIdOf(turn.head.last) === turnId;
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
function mayHide(theirs: Branch, base: string | undefined, turns: readonly Branch[]): boolean {
  const others = turns.filter((turn) => !containsTip(turn, theirs.head.last));
  const tips = others.map(({ head }) => head.last);
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
  { head: { last } }: Branch,
  overruledTips: readonly string[],
): Promise<boolean> {
  for (const tip of overruledTips) {
    if (batchIdOf(tip) === batchIdOf(last)) return true;
    if (containsTip(await reader.readTip(tip), last)) return true;
  }
  return false;
}

/**
 * Decides how to continue if the client's own branch can't be read. The branch was cleared, has
 * expired, is not in the store yet, or comes from a log without echoes.
 */
function decideWithoutClientBranch(
  base: string,
  theirs: Branch | undefined,
  isOld: boolean,
): Comparison {
  const mayCome = turnIdOf(base) !== undefined || !theirs || theirs.head.last <= base;
  if (mayCome && !isOld) return { type: 'stale' };
  return { type: 'fork', fork: { theirs }, mayBeStale: !isOld };
}

interface TurnBranches {
  readonly branches: readonly Branch[];
  /** Errors of turns that can't be read, by the turn's id. */
  readonly damages: ReadonlyMap<string, AgentError>;
}

async function readTurns(
  reader: BranchReader,
  turnEntries: EchoFacts['unseenTurns'],
): Promise<TurnBranches> {
  const branches: Branch[] = [];
  const damages = new Map<string, AgentError>();
  for (const [id] of turnEntries) {
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
