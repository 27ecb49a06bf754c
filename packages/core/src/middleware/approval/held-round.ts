import { isEnding, type Next } from '../../agent/next.ts';
import type { OpenCall, Round, RunCall, Step } from '../../agent/middleware.ts';
import { perRun } from '../../agent/per-run.ts';
import type { RunContext } from '../../agent/run-context.ts';
import { toolResultsOf } from '../../message/message-text.ts';
import type { ReadyCall } from '../../tool/prepare-call.ts';
import { notStarted } from '../../tool/tool-outcome.ts';
import { isUndecided, type NeedsApproval } from './approval-policy.ts';

interface Holding {
  /** `decide`: tool calls are only decided in this step. `run`: they also start. */
  mode: 'decide' | 'run';
  /** Ids of the tool calls that may start without a decision. */
  readonly cleared: Set<string>;
}

export interface HeldRounds {
  readonly needs: NeedsApproval;
  /** Wraps the step that runs the open tool calls. `holds`: whether the rounds of this run wait. */
  wrapRound(next: Step<Round, Next>, holds: (context: RunContext) => boolean): Step<Round, Next>;
  /** Wraps the start of a tool call. */
  wrapTool(next: RunCall): RunCall;
}

/**
 * Makes all tool calls of a reply wait until each call that needs an approval is decided. First
 * decides about the tool calls that need an approval. Then shows the others to the hooks, which may
 * change them so that they need one. Then starts all.
 */
export function heldRounds(needs: NeedsApproval): HeldRounds {
  const holdingOf = perRun((): Holding => ({ mode: 'run', cleared: new Set() }));
  const clear = async (call: ReadyCall, context: RunContext): Promise<boolean | string> => {
    const { mode, cleared } = holdingOf(context);
    const asked = await needs(call, context);
    if (!asked && mode === 'decide') cleared.add(call.toolUse.id);
    return asked;
  };
  return {
    // A cleared tool call does not wait, so that it starts in its order among the decided ones.
    needs(call, context) {
      const { cleared } = holdingOf(context);
      return cleared.has(call.toolUse.id) ? false : clear(call, context);
    },
    wrapRound: (next, holds) => async (round, context) => {
      if (!holds(context)) return next(round, context);
      return runHeld(round.calls, { needs, holding: holdingOf(context), context, next });
    },
    wrapTool: (next) => async (call, given) => {
      const isRunning = holdingOf(given.run).mode === 'run';
      return isRunning ? next(call, given) : notStarted;
    },
  };
}

interface HeldRound {
  readonly needs: NeedsApproval;
  readonly holding: Holding;
  readonly context: RunContext;
  readonly next: Step<Round, Next>;
}

async function runHeld(
  given: readonly OpenCall[],
  { needs, holding, context, next }: HeldRound,
): Promise<Next> {
  const undecided = await Promise.all(given.map((call) => isUndecided(call, context, needs)));
  const asks = undecided.includes(true) || given.some(({ state }) => state.decision);
  // No tool of the round has started. Its only results are rejections.
  const calls = asks && !hasRun(context) ? given.map(withoutStart) : given;
  const waiting = calls.filter((_call, index) => undecided[index]);
  const fresh = calls.filter(({ state, result }) => !state.toolUse && !result);
  const first = waiting.length ? waiting : fresh;
  if (!first.length) {
    for (const { toolUse } of calls) holding.cleared.add(toolUse.id);
    return next({ calls }, context);
  }
  holding.mode = 'decide';
  try {
    const made = await next({ calls: first, parallelTools: Infinity }, context);
    // The tools start in the next round.
    return isEnding(made) || !context.openCalls.length ? made : { to: 'tools' };
  } finally {
    holding.mode = 'run';
  }
}

/** Returns whether a tool of the last reply has run: it has a result that is not a rejection. */
function hasRun({ messages }: RunContext): boolean {
  const reply = messages.findLastIndex(({ role }) => role === 'assistant');
  const results = messages.slice(reply + 1).flatMap(toolResultsOf);
  return results.some(({ state }) => state !== 'denied');
}

function withoutStart(call: OpenCall): OpenCall {
  return call.isKnown ? call : { ...call, state: { ...call.state, started: false } };
}
