import type { Middleware, OpenCall, Run } from '../agent/middleware.ts';
import { AgentError } from '../error/agent-error.ts';
import { reportFailure } from '../error/report-failure.ts';
import type { Awaitable } from '../event/hook.ts';
import { checkDecision, type Decision, type PendingCall } from '../event/pending-call.ts';
import type { JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import { deniedResult, errorResult, isSuspension } from '../tool/tool-call.ts';
import { Deadline } from '../wait/deadline.ts';
import { checkedEdits, storeEdit } from './edit-call.ts';

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

/** Who decides, within which time, and who gets its failures. See `ApprovalsOptions`. */
interface Approver {
  readonly decide: Decide;
  readonly timeoutMs?: number;
  readonly onError?: (error: unknown) => void;
}

/** Asks `decide` about each tool call that an inner wrapper suspends for an approval. */
export function askApprover(
  approver: Approver,
): Required<Pick<Middleware, 'wrapRound' | 'wrapTool'>> {
  return {
    wrapRound: (round, next) => next({ ...round, calls: round.calls.map(withoutPending) }),
    wrapTool: async (call, next, run) => {
      const outcome = await next(call);
      if (!isSuspension(outcome) || outcome.kind !== 'approval') return outcome;
      const { suspended: _suspended, ...wait } = outcome;
      let { toolUse } = call;
      const { id: toolUseId, name, input } = toolUse;
      const pending: PendingCall = { toolUseId, name, input, kind: 'approval', ...wait };
      // If the process ends during the question, the next run knows that the tool has not started.
      await run.calls.note([{ kind: 'suspended', calls: [{ pending, toolUse }] }], { write: true });
      const decision = await decisionAbout(pending, approver, run);
      if (!decision) return outcome;
      await run.calls.note([{ kind: 'decision', decision }]);
      if (decision.type === 'reject') return deniedResult(toolUse, decision.reason);
      if (decision.type === 'edit') toolUse = await storeEdit(toolUse, decision, run);
      // The tools may have changed while the approver was asked.
      const ready = await call.prepare(toolUse);
      return ready.ok ? next({ ...call, ...ready, decision }) : errorResult(toolUse, ready.problem);
    },
  };
}

/** Returns a tool call without what it waits for, so that the approver is asked again. */
function withoutPending(call: OpenCall): OpenCall {
  const { pending, ...state } = call.state;
  return pending?.kind === 'approval' ? { ...call, state } : call;
}

/** Returns nothing if there is no decision, also after an abort or an interrupt. */
async function decisionAbout(
  pending: PendingCall,
  { decide, timeoutMs = 300_000, onError }: Approver,
  run: Run,
): Promise<Decision | undefined> {
  const { sessionId, stopSignal: signal } = run;
  const { messages } = run.prompt;
  const { name, toolUseId } = pending;
  const tooLate = `Nobody decided about "${name}" within ${timeoutMs} ms`;
  const timeoutError = new AgentError('TOOL_TIMEOUT', tooLate);
  const deadline = new Deadline(signal, timeoutMs, () => timeoutError);
  try {
    const approverContext = { sessionId, messages, signal: deadline.signal };
    const answer: unknown = await deadline.wait(async () => decide(pending, approverContext));
    if (answer === undefined) return undefined;
    const decision = toDecision(pending, answer);
    const input = { messages: [], decisions: [decision], arrivedDuringRun: 'decision' } as const;
    const { decisions } = await run.inbox.admit(input);
    const checkedDecisions = await checkedEdits(decisions, run);
    return checkedDecisions[0];
  } catch (error) {
    if (signal.aborted) return undefined;
    if (error === timeoutError)
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
