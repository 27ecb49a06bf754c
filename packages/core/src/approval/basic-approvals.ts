import type { InnerStep, Middleware, OpenCall, Round, Run } from '../agent/middleware.ts';
import type { Next } from '../agent/next.ts';
import { errorText } from '../error/agent-error.ts';
import type { Awaitable } from '../event/hook.ts';
import {
  decidedResult,
  errorResult,
  isForTool,
  withoutStart,
  type ToolCall,
  type ToolOutcome,
} from '../tool/tool-call.ts';
import { isUndecided, reasonOfTool, type ApprovalReason, type ReasonFor } from './approval-need.ts';
import { decidedInput } from './decided-input.ts';
import { checkedEdits, editCall } from './edit-call.ts';

/** The middleware that make up `approvals`. */
export type BasicApprovals = Required<
  Pick<Middleware, 'name' | 'wrapSettle' | 'wrapRound' | 'wrapTool'>
>;

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
    wrapRound: (round, next, run) =>
      round.calls.every(hasNoHistory) ? next(round) : decideRound(round, next, reasonFor, run),
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

/** Returns whether the log says nothing about a tool call but that it was made. */
function hasNoHistory({ isNoted, state }: OpenCall): boolean {
  return isNoted && !state.decision && !state.pending;
}

/** Runs a round after the decisions about its tool calls. */
async function decideRound(
  round: Round,
  next: InnerStep<Round, Next>,
  reasonFor: ReasonFor,
  run: Run,
): Promise<Next> {
  const calls: OpenCall[] = [];
  for (const openCall of round.calls) {
    const call = await applyDecision(openCall, run);
    // A call without a note has not started if it needs an approval.
    const hasNotStarted = !call.isNoted && (await run.wait.for(isUndecided(call, run, reasonFor)));
    calls.push(hasNotStarted ? withoutStart(call) : call);
  }
  return next({ ...round, calls });
}

/**
 * Applies the decision about a tool call. A rejection and a result end the tool call. An edit
 * changes its arguments.
 */
async function applyDecision(call: OpenCall, run: Run): Promise<OpenCall> {
  const { toolUse, state } = call;
  const { decision } = state;
  if (!decision || call.result) return call;
  const result = decidedResult(toolUse, state, run.tools.current);
  if (result) return { ...call, result };
  const startsNoTool = run.ending.stopped === 'aborted' || run.ending.stopped === 'interrupted';
  const isEdit = decision.type === 'edit' && !isForTool(state, run.tools.current);
  if (!isEdit || startsNoTool) return call;
  return { ...call, toolUse: await editCall(toolUse, decision, run) };
}
