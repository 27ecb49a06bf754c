import { isEnding, type Next } from '../agent/next.ts';
import type { InnerStep, Middleware, OpenCall, Round, Run } from '../agent/middleware.ts';
import { perRun } from '../agent/per-run.ts';
import { newestRound } from '../message/conversation/turns.ts';
import { notStarted, withoutStart } from '../tool/tool-call.ts';
import { isUndecided, type ReasonFor } from './approval-need.ts';

// A deferred round takes up to three passes. Each one gives the inner wrappers a part of its calls:
// - `decide`: those that need an approval. Somebody decides about them, and no tool runs.
// - `review`: those that no hook has seen. Hooks may change them so that they need an approval.
// - `start`: all calls. Their tools start, in the order of the calls.
// After each pass, the loop runs the open calls again, until `start` has come.

type Pass = 'decide' | 'review' | 'start';

/** What a round needs to know about the approvals of its tool calls. */
export interface Deferral {
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
  const passOfRun = perRun((): { current: Pass } => ({ current: 'start' }));
  const runPass = async (round: Round, next: InnerStep<Round, Next>, run: Run): Promise<Next> => {
    const undecided = await Promise.all(round.calls.map((one) => isUndecided(one, run, reasonFor)));
    const unstartedCalls = notStartedCalls(round.calls, undecided, run);
    const { pass, calls } = passOf(unstartedCalls, undecided);
    passOfRun(run).current = pass;
    if (pass === 'start') {
      // No tool call waits for another question, so that all start in their order.
      for (const { toolUse } of calls) clearedOf(run).add(toolUse.id);
      return next({ ...round, calls });
    }
    const outcome = await next({ calls, parallelTools: Infinity });
    const { open: openCalls } = run.calls;
    const hasPending = openCalls.some(({ state }) => state.pending);
    // The tools of a run that pauses still start.
    const isPause = isEnding(outcome) && outcome.reason === 'suspended' && !hasPending;
    const isNextPass = openCalls.length > 0 && (isPause || !isEnding(outcome));
    return isNextPass ? { to: 'tools' } : outcome;
  };
  return {
    wrapRound: (round, next, run) => (defers(run) ? runPass(round, next, run) : next(round)),
    wrapTool: async (call, next, run) => {
      if (passOfRun(run).current === 'start') return next(call);
      clearedOf(run).add(call.toolUse.id);
      return notStarted;
    },
  };
}

/** Returns the next pass of a round, and the tool calls that it is about. */
function passOf(
  calls: readonly OpenCall[],
  undecided: readonly boolean[],
): { readonly pass: Pass; readonly calls: readonly OpenCall[] } {
  const undecidedCalls = calls.filter((_call, index) => undecided[index]);
  if (undecidedCalls.length) return { pass: 'decide', calls: undecidedCalls };
  const unseen = calls.filter(({ state, result }) => !state.toolUse && !result);
  return unseen.length ? { pass: 'review', calls: unseen } : { pass: 'start', calls };
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
