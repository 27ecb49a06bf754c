import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import { checkDecision } from '../../event/check-decision.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { JsonValue } from '../../message/json/json.ts';
import type { Msg } from '../../message/msg.ts';
import { Deadline } from '../../model/deadline.ts';

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

interface AskOptions {
  readonly context: RunContext;
  readonly steps: Steps;
  readonly decide?: Decide;
  /** Default: 5 minutes. */
  readonly timeoutMs?: number;
  readonly onError?: (error: unknown) => void;
}

/**
 * Asks the approver about a tool call. Returns nothing if there is no decision, also after an abort
 * or an interrupt.
 */
export async function askApprover(
  pending: PendingCall,
  { context, steps, decide, timeoutMs = 300_000, onError }: AskOptions,
): Promise<Decision | undefined> {
  const { sessionId, request: messages, stopSignal: signal } = context;
  const { name, toolUseId } = pending;
  const late = new AgentError(
    'TOOL_TIMEOUT',
    `Nobody decided about "${name}" within ${timeoutMs} ms`,
  );
  const deadline = new Deadline(signal, timeoutMs, () => late);
  try {
    const asked = { sessionId, messages, signal: deadline.signal };
    const verdict: unknown = await deadline.wait(async () => decide?.(pending, asked));
    if (verdict === undefined) return undefined;
    const decision = toDecision(pending, verdict);
    const { decisions } = await steps.admit({ messages: [], decisions: [decision] });
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
  checkFields(
    'INVALID_DECISION',
    'The verdict',
    verdict,
    'type:approve|edit|reject reason:string|?',
  );
  const { type, input } = verdict as { readonly type: string; readonly input?: JsonValue };
  if (type === 'edit' && input === undefined)
    throw new AgentError('INVALID_DECISION', 'An `edit` verdict needs `input`.');
  const decision: unknown = { toolUseId, name, ...(verdict as Verdict) };
  checkDecision(decision, 'The verdict', 'INVALID_DECISION');
  if (decision.toolUseId === toolUseId && decision.name === name) return decision;
  throw new AgentError('INVALID_DECISION', `The verdict does not decide about "${name}".`);
}
