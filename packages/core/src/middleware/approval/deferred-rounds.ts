import { isEnding, type Next } from '../../agent/next.ts';
import type { InnerStep, Middleware, OpenCall, Round } from '../../agent/middleware.ts';
import type { RunContext } from '../../agent/run-context.ts';
import { perRun } from '../../agent/per-run.ts';
import { toolResultsOf } from '../../message/msg.ts';
import { notStarted, type ReadyCall } from '../../tool/tool-call.ts';
import { isUndecided, type NeedsApproval } from './approval-rules.ts';

/** Which tool calls of a run may start. */
interface Deferral {
  /** Whether the tool calls of the step start. If not, they are only decided. */
  mayStart: boolean;
  /** Ids of the tool calls that may start without a decision. */
  readonly cleared: Set<string>;
}

/** `needs`: says no about a tool call that was cleared. The wrappers belong inside those that ask. */
export interface DeferredRounds extends Required<Pick<Middleware, 'wrapRound' | 'wrapTool'>> {
  readonly needs: NeedsApproval;
}

/**
 * Makes all tool calls of a reply wait until each call that needs an approval is decided, in the
 * runs for which `defers` returns true. First decides about the tool calls that need an approval.
 * Then shows the others to the hooks, which may change them so that they need one. Then starts all.
 */
export function deferredRounds(
  needs: NeedsApproval,
  defers: (context: RunContext) => boolean,
): DeferredRounds {
  const deferralOf = perRun((): Deferral => ({ mayStart: true, cleared: new Set() }));
  const askOnce = async (call: ReadyCall, context: RunContext): Promise<boolean | string> => {
    const deferral = deferralOf(context);
    // A tool call that is asked about while tools run is not cleared.
    const isDecided = !deferral.mayStart;
    const isAsked = await needs(call, context);
    if (!isAsked && isDecided) deferral.cleared.add(call.toolUse.id);
    return isAsked;
  };
  const runDeferred = async (
    roundCalls: readonly OpenCall[],
    next: InnerStep<Round, Next>,
    context: RunContext,
  ): Promise<Next> => {
    const deferral = deferralOf(context);
    const undecided = await Promise.all(
      roundCalls.map((call) => isUndecided(call, context, needs)),
    );
    const asks = undecided.includes(true) || roundCalls.some(({ state }) => state.decision);
    // No tool of the round has started. Its only results are rejections.
    const calls = asks && !hasRun(context) ? roundCalls.map(withoutStart) : roundCalls;
    const waiting = calls.filter((_call, index) => undecided[index]);
    const fresh = calls.filter(({ state, result }) => !state.toolUse && !result);
    const first = waiting.length ? waiting : fresh;
    if (!first.length) {
      for (const { toolUse } of calls) deferral.cleared.add(toolUse.id);
      return next({ calls });
    }
    deferral.mayStart = false;
    try {
      const outcome = await next({ calls: first, parallelTools: Infinity });
      // The tools start in the next round, also if the run pauses after it.
      const { openCalls } = context;
      const hasPending = openCalls.some(({ state }) => state.pending);
      const isPause = isEnding(outcome) && outcome.reason === 'suspended' && !hasPending;
      return openCalls.length && (isPause || !isEnding(outcome)) ? { to: 'tools' } : outcome;
    } finally {
      deferral.mayStart = true;
    }
  };
  return {
    // A cleared tool call does not wait, so that it starts in its order among the decided ones.
    needs(call, context) {
      const isCleared = deferralOf(context).cleared.has(call.toolUse.id);
      return isCleared ? false : askOnce(call, context);
    },
    wrapRound: (next) => (round, context) =>
      defers(context) ? runDeferred(round.calls, next, context) : next(round),
    wrapTool: (next) => async (call, context) =>
      deferralOf(context).mayStart ? next(call) : notStarted,
  };
}

/** Returns whether a tool of the last reply has run: it has a result that is not a rejection. */
function hasRun({ messages }: RunContext): boolean {
  const reply = messages.findLastIndex(({ role }) => role === 'assistant');
  const results = messages.slice(reply + 1).flatMap(toolResultsOf);
  return results.some(({ state }) => state !== 'denied');
}

function withoutStart(call: OpenCall): OpenCall {
  return call.isNoted ? call : { ...call, state: { ...call.state, started: false } };
}
