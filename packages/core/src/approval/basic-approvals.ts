import type { InnerStep, Middleware, OpenCall, Run } from '../agent/middleware.ts';
import { errorText } from '../error/agent-error.ts';
import type { Awaitable } from '../event/hook.ts';
import { errorResult, withoutStart, type ToolCall, type ToolOutcome } from '../tool/tool-call.ts';
import { isUndecided, reasonOfTool, type ApprovalReason, type ReasonFor } from './approval-need.ts';
import { decidedInput } from './decided-input.ts';
import { checkedEdits, storeEdits } from './edit-call.ts';

/** The middleware that make up `approvals`. */
type BasicApprovals = Required<Pick<Middleware, 'name' | 'wrapSettle' | 'wrapRound' | 'wrapTool'>>;

/**
 * Carries out decisions about tool calls, and suspends tool calls that need an approval. Default of
 * `reasonFor`: asks the tool's `needsApproval`.
 */
export function basicApprovals(reasonFor: ReasonFor = reasonOfTool): BasicApprovals {
  return {
    name: 'approvals',
    wrapSettle: async (input, next, run) => {
      const decided = decidedInput(input, run.calls.open);
      const decisions = await checkedEdits(decided.decisions, run);
      return next({ ...decided, decisions });
    },
    wrapRound: async (round, next, run) => {
      await storeEdits(round.calls, run);
      if (round.calls.every(({ isNoted }) => isNoted)) return next(round);
      return next({ ...round, calls: await withoutStarts(round.calls, reasonFor, run) });
    },
    wrapTool: (call, next, run) => {
      // The open calls come last, because to read them for each call of a round is quadratic.
      const reason = !call.decision && reasonFor(call, run);
      return reason ? suspendOrRun(call, next, reason, run) : next(call);
    },
  };
}

/** Suspends a tool call if there is a reason, unless somebody approved it. Runs it otherwise. */
async function suspendOrRun(
  call: ToolCall,
  next: InnerStep<ToolCall, ToolOutcome>,
  neededReason: Awaitable<ApprovalReason>,
  run: Run,
): Promise<ToolOutcome> {
  const isApproved = (): boolean =>
    run.calls.open.some(({ toolUse, state }) => toolUse.id === call.toolUse.id && state.approved);
  let reason: ApprovalReason;
  try {
    reason = await run.wait.for(neededReason);
  } catch (error) {
    if (isApproved()) return next(call);
    // The tool has not started, so the run closes the call as interrupted.
    if (run.ending.stopped === 'aborted') throw error;
    return errorResult(call.toolUse, errorText(error));
  }
  if (!reason || isApproved()) return next(call);
  const suspension = { suspended: true, kind: 'approval' } as const;
  return reason === true ? suspension : { ...suspension, reason };
}

/** Marks calls without a note as not started if they need an approval. */
async function withoutStarts(
  calls: readonly OpenCall[],
  reasonFor: ReasonFor,
  run: Run,
): Promise<readonly OpenCall[]> {
  const markedCalls: OpenCall[] = [];
  for (const call of calls) {
    const hasNotStarted = !call.isNoted && (await run.wait.for(isUndecided(call, run, reasonFor)));
    markedCalls.push(hasNotStarted ? withoutStart(call) : call);
  }
  return markedCalls;
}
