import type {
  InnerStep,
  OpenCall,
  OuterStep,
  Round,
  RunContext,
  Steps,
} from '../../agent/middleware.ts';
import { AgentError } from '../../error/agent-error.ts';
import { reportFailure } from '../../error/report-failure.ts';
import { checkDecision } from '../../event/check-decision.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { JsonValue } from '../../message/json/json.ts';
import type { Msg } from '../../message/msg.ts';
import { Deadline } from '../../model/deadline.ts';
import type { ToolCall } from '../../tool/prepare-call.ts';
import { isSuspension, type ToolOutcome } from '../../tool/tool-outcome.ts';
import { deniedResult, errorResult } from '../../tool/tool-result.ts';
import { editCall } from './basic-approvals.ts';

/** Answer of an approver about a tool call. */
export type Verdict =
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
) => Awaitable<Verdict | undefined>;

export interface AskOptions {
  readonly decide: Decide;
  /** Default: 5 minutes. */
  readonly timeoutMs?: number | undefined;
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Returns the round without what its tool calls wait for, so that the approver is asked again. */
export function askedAgain(round: Round): Round {
  const calls = round.calls.map((call): OpenCall => {
    const { pending, ...state } = call.state;
    return pending?.kind === 'approval' && !state.decision ? { ...call, state } : call;
  });
  return { ...round, calls };
}

/**
 * Asks the approver about a tool call if `gated` suspends it for an approval. `next` runs the tool
 * call once it is approved.
 */
export function askingApprover(
  gated: OuterStep<ToolCall, ToolOutcome>,
  next: InnerStep<ToolCall, ToolOutcome>,
  options: AskOptions,
): OuterStep<ToolCall, ToolOutcome> {
  return async (call, context, steps) => {
    const outcome = await gated(call, context, steps);
    if (!isSuspension(outcome) || outcome.kind !== 'approval') return outcome;
    const decision = await askNow(call, outcome.suspended, { context, steps, options });
    if (!decision) return outcome;
    let { toolUse } = call;
    if (decision.type === 'reject') return deniedResult(toolUse, decision.reason);
    if (decision.type === 'edit')
      toolUse = await editCall(toolUse, decision, { isReviewed: true, context, steps });
    // The tools may have changed while the approver was asked.
    const ready = await call.prepare(toolUse);
    return ready.ok ? next({ ...call, ...ready, decision }) : errorResult(toolUse, ready.problem);
  };
}

interface Asking {
  readonly context: RunContext;
  readonly steps: Steps;
  readonly options: AskOptions;
}

/**
 * Asks for a decision, and notes the question and the decision in the log. If the process ends
 * during the question, the next run knows that the tool has not started.
 */
async function askNow(
  { toolUse }: ToolCall,
  reason: string,
  { context, steps, options }: Asking,
): Promise<Decision | undefined> {
  const { id: toolUseId, name, input } = toolUse;
  const why = reason ? { reason } : {};
  const pending: PendingCall = { toolUseId, name, input, kind: 'approval', ...why };
  await steps.note([{ kind: 'suspended', calls: [{ pending, toolUse }] }], { now: true });
  const decision = await verdictAbout(pending, context, steps, options);
  if (decision) await steps.note([{ kind: 'decision', decision }]);
  return decision;
}

/** Returns nothing if there is no decision, also after an abort or an interrupt. */
async function verdictAbout(
  pending: PendingCall,
  { sessionId, request: messages, stopSignal: signal }: RunContext,
  steps: Steps,
  { decide, timeoutMs = 300_000, onError }: AskOptions,
): Promise<Decision | undefined> {
  const { name, toolUseId } = pending;
  const late = new AgentError(
    'TOOL_TIMEOUT',
    `Nobody decided about "${name}" within ${timeoutMs} ms`,
  );
  const deadline = new Deadline(signal, timeoutMs, () => late);
  try {
    const asked = { sessionId, messages, signal: deadline.signal };
    const verdict: unknown = await deadline.wait(async () => decide(pending, asked));
    if (verdict === undefined) return undefined;
    const decision = toDecision(pending, verdict);
    const input = { messages: [], decisions: [decision], from: 'decision' } as const;
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

/** Converts a verdict to a decision. Throws `INVALID_DECISION` for anything else. */
function toDecision({ toolUseId, name }: PendingCall, verdict: unknown): Decision {
  const decision: unknown = { toolUseId, name, ...Object(verdict) };
  checkDecision(decision, 'The verdict', 'INVALID_DECISION');
  const isOfCall = decision.toolUseId === toolUseId && decision.name === name;
  if (isOfCall && decision.type !== 'result') return decision;
  throw new AgentError('INVALID_DECISION', `The verdict does not decide about "${name}".`);
}
