import type { InnerStep, Middleware, OpenCall, Round } from '../agent/middleware.ts';
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
import { checkedEdits, editCall, type DecidedRun } from './edit-call.ts';

/** The parts of the middleware `approvals`. */
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
    wrapSettle: (next) => async (input, context, steps) => {
      const decided = decidedInput(input, context.openCalls);
      const decisions = await checkedEdits(decided.decisions, { context, steps });
      return next({ ...decided, decisions });
    },
    wrapRound: (next) => (round, context, steps) =>
      round.calls.every(hasNoHistory)
        ? next(round)
        : decideRound(round, next, reasonFor, { context, steps }),
    wrapTool: (next) => (call, context, steps) => {
      // The open calls come last, because to read them for each call of a round is quadratic.
      const reason = !call.decision && reasonFor(call, context);
      return reason ? suspendOrRun(call, next, reason, { context, steps }) : next(call);
    },
  };
}

/** Suspends a tool call if there is a reason, unless somebody approved it. Runs it otherwise. */
async function suspendOrRun(
  call: ToolCall,
  next: InnerStep<ToolCall, ToolOutcome>,
  neededReason: Awaitable<ApprovalReason>,
  { context, steps }: DecidedRun,
): Promise<ToolOutcome> {
  const isApproved = (): boolean =>
    context.openCalls.some(
      ({ toolUse, state }) => toolUse.id === call.toolUse.id && state.approved,
    );
  let reason: ApprovalReason;
  try {
    reason = await steps.wait(neededReason);
  } catch (error) {
    if (isApproved()) return next(call);
    // The tool has not started, so the run closes the call as interrupted.
    if (context.stopped === 'aborted') throw error;
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
  run: DecidedRun,
): Promise<Next> {
  const { context, steps } = run;
  const calls: OpenCall[] = [];
  for (const openCall of round.calls) {
    const call = await applyDecision(openCall, run);
    // A call without a note has not started if it needs an approval.
    const hasNotStarted =
      !call.isNoted && (await steps.wait(isUndecided(call, context, reasonFor)));
    calls.push(hasNotStarted ? withoutStart(call) : call);
  }
  return next({ ...round, calls });
}

/**
 * Applies the decision about a tool call. A rejection and a result end the tool call. An edit
 * changes its arguments.
 */
async function applyDecision(call: OpenCall, run: DecidedRun): Promise<OpenCall> {
  const { context } = run;
  const { toolUse, state } = call;
  const { decision } = state;
  if (!decision || call.result) return call;
  const result = decidedResult(toolUse, state, context.tools);
  if (result) return { ...call, result };
  const startsNoTool = context.stopped === 'aborted' || context.stopped === 'interrupted';
  const isEdit = decision.type === 'edit' && !isForTool(state, context.tools);
  if (!isEdit || startsNoTool) return call;
  return { ...call, toolUse: await editCall(toolUse, decision, run) };
}
