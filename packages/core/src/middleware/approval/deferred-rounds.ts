import { isEnding, type Next } from '../../agent/next.ts';
import type { InnerStep, Middleware, OpenCall, Round, RunContext } from '../../agent/middleware.ts';
import { perRun } from '../../agent/per-run.ts';
import { newestRound } from '../../message/turns.ts';
import { notStarted } from '../../tool/tool-call.ts';
import { isUndecided, withoutStart, type NeedsApproval } from './approval-rules.ts';

/**
 * What happens to the tool calls of one pass of a deferred round. `decide`: somebody decides about
 * those that need an approval. `review`: the hooks get the others, and may change them so that they
 * need an approval. `start`: the tools of all calls start.
 */
type Pass = 'decide' | 'review' | 'start';

interface Deferral {
  pass: Pass;
  /** Ids of the tool calls that need no decision. They are not asked about again. */
  readonly cleared: Set<string>;
}

/**
 * `needs`: says no about a tool call that was cleared. The wrappers belong inside those that ask.
 */
export interface DeferredRounds extends Required<Pick<Middleware, 'wrapRound' | 'wrapTool'>> {
  readonly needs: NeedsApproval;
}

/**
 * Makes all tool calls of a reply wait until people have decided about those that need an approval.
 * `defers` says in which runs. A round then takes up to three passes. In each pass, the inner
 * wrappers get a part of its calls.
 */
export function deferredRounds(
  needsApproval: NeedsApproval,
  defers: (context: RunContext) => boolean,
): DeferredRounds {
  const deferralOf = perRun((): Deferral => ({ pass: 'start', cleared: new Set() }));
  const needs: NeedsApproval = (call, context) =>
    !deferralOf(context).cleared.has(call.toolUse.id) && needsApproval(call, context);
  const runPass = async (
    round: Round,
    next: InnerStep<Round, Next>,
    context: RunContext,
  ): Promise<Next> => {
    const deferral = deferralOf(context);
    const undecided = await Promise.all(round.calls.map((one) => isUndecided(one, context, needs)));
    const unstartedCalls = notStartedCalls(round.calls, undecided, context);
    const { pass, calls } = passOf(unstartedCalls, undecided);
    deferral.pass = pass;
    if (pass === 'start') {
      // No tool call waits for another question, so that all start in their order.
      for (const { toolUse } of calls) deferral.cleared.add(toolUse.id);
      return next({ ...round, calls });
    }
    const outcome = await next({ calls, parallelTools: Infinity });
    const { openCalls } = context;
    const hasPending = openCalls.some(({ state }) => state.pending);
    // The tools of a run that pauses still start.
    const isPause = isEnding(outcome) && outcome.reason === 'suspended' && !hasPending;
    const isNextPass = openCalls.length > 0 && (isPause || !isEnding(outcome));
    return isNextPass ? { to: 'tools' } : outcome;
  };
  return {
    needs,
    wrapRound: (next) => (round, context) =>
      defers(context) ? runPass(round, next, context) : next(round),
    wrapTool: (next) => async (call, context) => {
      const { pass, cleared } = deferralOf(context);
      if (pass === 'start') return next(call);
      cleared.add(call.toolUse.id);
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
  context: RunContext,
): readonly OpenCall[] {
  const asks = undecided.includes(true) || calls.some(({ state }) => state.decision);
  return asks && !hasRun(context) ? calls.map(withoutStart) : calls;
}

/** Returns whether a tool of the last reply has run: it has a result that is not a rejection. */
function hasRun({ messages }: RunContext): boolean {
  return newestRound(messages).results.some(({ state }) => state !== 'denied');
}
