import type { Middleware, OpenCall } from '../../agent/middleware.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import { AgentError } from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';
import { checkDecision, type Decision, type PendingCall } from '../../event/pending-call.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import { Deadline } from '../../wait/deadline.ts';
import { isSuspension, deniedResult, errorResult } from '../../tool/tool-call.ts';
import type { ApprovalsOptions } from './approvals.ts';
import { editCall } from './basic-approvals.ts';

/** Decision of an approver about a tool call. */
export type ApprovalDecision =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string };

/** Context of the tool call that needs a decision. */
export interface ApprovalContext {
  readonly sessionId: string;
  /** Messages of the model request whose reply contains the tool call. */
  readonly messages: readonly Msg[];
  /** Signal that aborts when the decision is no longer needed. */
  readonly signal: AbortSignal;
}

/** Decides about a tool call while the run waits. */
export type Decide = (
  call: PendingCall,
  context: ApprovalContext,
) => Awaitable<ApprovalDecision | undefined>;

/** The options of `approvals()` with `decide`. */
export type ApproverOptions = ApprovalsOptions & Required<Pick<ApprovalsOptions, 'decide'>>;

/** Asks the approver about each tool call that an inner wrapper suspends for an approval. */
export function askApprover(
  options: ApproverOptions,
): Required<Pick<Middleware, 'wrapRound' | 'wrapTool'>> {
  return {
    wrapRound: (next) => (round) => next({ ...round, calls: round.calls.map(withoutPending) }),
    wrapTool: (next) => async (call, context, steps) => {
      const outcome = await next(call);
      if (!isSuspension(outcome) || outcome.kind !== 'approval') return outcome;
      const { reason } = outcome;
      let { toolUse } = call;
      const { id: toolUseId, name, input } = toolUse;
      const why = reason ? { reason } : {};
      const pending: PendingCall = { toolUseId, name, input, kind: 'approval', ...why };
      // If the process ends during the question, the next run knows that the tool has not started.
      await steps.note([{ kind: 'suspended', calls: [{ pending, toolUse }] }], { write: true });
      const decision = await decisionAbout(pending, context, steps, options);
      if (!decision) return outcome;
      await steps.note([{ kind: 'decision', decision }]);
      if (decision.type === 'reject') return deniedResult(toolUse, decision.reason);
      if (decision.type === 'edit') toolUse = await editCall(toolUse, decision, { context, steps });
      // The tools may have changed while the approver was asked.
      const ready = await call.prepare(toolUse);
      return ready.ok ? next({ ...call, ...ready, decision }) : errorResult(toolUse, ready.problem);
    },
  };
}

/** Returns a tool call without what it waits for, so that the approver is asked again. */
function withoutPending(call: OpenCall): OpenCall {
  const { pending, ...state } = call.state;
  return pending?.kind === 'approval' && !state.decision ? { ...call, state } : call;
}

/** Returns nothing if there is no decision, also after an abort or an interrupt. */
async function decisionAbout(
  pending: PendingCall,
  { sessionId, requestMessages: messages, stopSignal: signal }: RunContext,
  steps: Steps,
  { decide, timeoutMs = 300_000, onError }: ApproverOptions,
): Promise<Decision | undefined> {
  const { name, toolUseId } = pending;
  const tooLate = `Nobody decided about "${name}" within ${timeoutMs} ms`;
  const late = new AgentError('TOOL_TIMEOUT', tooLate);
  const deadline = new Deadline(signal, timeoutMs, () => late);
  try {
    const approverContext = { sessionId, messages, signal: deadline.signal };
    const answer: unknown = await deadline.wait(async () => decide(pending, approverContext));
    if (answer === undefined) return undefined;
    const decision = toDecision(pending, answer);
    const input = { messages: [], decisions: [decision], arrivedDuringRun: 'decision' } as const;
    const { decisions } = await steps.admit(input);
    return decisions[0];
  } catch (error) {
    if (signal.aborted) return undefined;
    if (error === late)
      return { toolUseId, name, type: 'reject', reason: 'nobody decided in time' };
    reportFailure(`Nobody could decide about "${name}".`, onError, error);
    return undefined;
  } finally {
    deadline.end();
  }
}

/**
 * Adds the id of the tool call to the decision of `decide`. Throws `INVALID_DECISION` if it is
 * none.
 */
function toDecision({ toolUseId, name }: PendingCall, answer: unknown): Decision {
  const decision: unknown = { toolUseId, name, ...Object(answer) };
  checkDecision(decision, 'The decision', 'INVALID_DECISION');
  const isOfCall = decision.toolUseId === toolUseId && decision.name === name;
  if (isOfCall && decision.type !== 'result') return decision;
  throw new AgentError('INVALID_DECISION', `The decision is not about "${name}".`);
}
