import { isEnding, type Next } from '../agent/next.ts';
import type { InnerStep, Middleware, OpenCall, Round, Run } from '../agent/middleware.ts';
import { perRun } from '../agent/per-run.ts';
import { newestRound } from '../message/conversation/turns.ts';
import { notStarted, withoutStart } from '../tool/tool-call.ts';
import { isUndecided, type ReasonFor } from './approval-need.ts';

// A deferred round takes up to three passes. Each one gives the inner wrappers a part of its calls:
// 1. Those that need an approval. Somebody decides about them, and no tool runs.
// 2. Those that no hook has seen. Hooks may change them so that they need an approval.
// 3. All calls. Their tools start, in the order of the calls.
// After each pass, the loop runs the open calls again, until the third has come.

/** Whether the tools of a run start, or wait for a later pass. */
interface ToolGate {
  isOpen: boolean;
}

/** What a round needs to know about the approvals of its tool calls. */
interface Deferral {
  /** Returns whether the rounds of a run are deferred. */
  defers(run: Run): boolean;
  /** Gives no reason for a cleared tool call. */
  readonly reasonFor: ReasonFor;
  /**
   * Returns the ids of the tool calls of a run that are cleared: nobody is asked about them again.
   */
  clearedOf(run: Run): Set<string>;
}

/**
 * Makes all tool calls of a reply wait until people have decided about those that need an approval.
 * The wrappers belong inside those that ask.
 */
export function deferredRounds({
  defers,
  reasonFor,
  clearedOf,
}: Deferral): Required<Pick<Middleware, 'wrapRound' | 'wrapTool'>> {
  const gateOf = perRun((): ToolGate => ({ isOpen: true }));
  const wrapDeferred: WrapRound = async (round, next, run) => {
    const undecided = await Promise.all(round.calls.map((one) => isUndecided(one, run, reasonFor)));
    const calls = notStartedCalls(round.calls, undecided, run);
    const heldCalls = callsBeforeStart(calls, undecided);
    gateOf(run).isOpen = !heldCalls.length;
    if (heldCalls.length) {
      const outcome = await next({ calls: heldCalls, parallelTools: Infinity });
      return needsNextPass(outcome, run) ? { to: 'tools' } : outcome;
    }
    // No tool call waits for another question, so that all start in their order.
    for (const { toolUse } of calls) clearedOf(run).add(toolUse.id);
    return next({ ...round, calls });
  };
  return {
    wrapRound: (round, next, run) => (defers(run) ? wrapDeferred(round, next, run) : next(round)),
    wrapTool: async (call, next, run) => {
      if (gateOf(run).isOpen) return next(call);
      clearedOf(run).add(call.toolUse.id);
      return notStarted;
    },
  };
}

type WrapRound = (round: Round, next: InnerStep<Round, Next>, run: Run) => Promise<Next>;

/** Returns the tool calls of the first or second pass. None: the tools of all calls may start. */
function callsBeforeStart(
  calls: readonly OpenCall[],
  undecided: readonly boolean[],
): readonly OpenCall[] {
  const undecidedCalls = calls.filter((_call, index) => undecided[index]);
  if (undecidedCalls.length) return undecidedCalls;
  return calls.filter(({ state, result }) => !state.toolUse && !result);
}

/** Returns whether a round whose tools have not started has another pass. */
function needsNextPass(outcome: Next, run: Run): boolean {
  const { open: openCalls } = run.calls;
  if (!openCalls.length) return false;
  if (!isEnding(outcome)) return true;
  // The tools of a run that pauses still start.
  const hasPending = openCalls.some(({ state }) => state.pending);
  return outcome.reason === 'suspended' && !hasPending;
}

/**
 * Marks the calls of a round as not started, unless the log says whether they have. Does so only if
 * the round had to wait for decisions and none of its tools has run.
 */
function notStartedCalls(
  calls: readonly OpenCall[],
  undecided: readonly boolean[],
  run: Run,
): readonly OpenCall[] {
  const hasWaited = undecided.includes(true) || calls.some(({ state }) => state.decision);
  return hasWaited && !anyToolRan(run) ? calls.map(withoutStart) : calls;
}

/** Returns whether a tool of the last reply has run: it has a result that is not a rejection. */
function anyToolRan({ messages }: Run): boolean {
  return newestRound(messages).results.some(({ state }) => state !== 'denied');
}
