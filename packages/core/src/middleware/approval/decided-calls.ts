import type {
  Middleware,
  OpenCall,
  Round,
  RunCall,
  RunCallOptions,
  Step,
} from '../../agent/middleware.ts';
import type { Next } from '../../agent/next.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import { messageOf } from '../../error/agent-error.ts';
import type { Awaitable } from '../../event/hook.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json/json.ts';
import type { ReadyCall } from '../../tool/prepare-call.ts';
import type { Suspension } from '../../tool/run-call.ts';
import { deniedResult, errorResult, toolResult } from '../../tool/tool-result.ts';
import { isUndecided, toolNeeds, type ApprovalPolicy } from './approval-policy.ts';
import { decidedInput } from './decided-input.ts';
import { editCall } from './edit-call.ts';

/** The parts of the middleware `approvals`. */
export type DecidedCalls = Required<
  Pick<Middleware, 'name' | 'wrapSettle' | 'wrapRound' | 'wrapTool'>
>;

/**
 * Carries out decisions about tool calls, and suspends tool calls that need an approval. The default
 * policy asks the tool's `needsApproval`.
 */
export function decidedCalls(policy: ApprovalPolicy = { needs: toolNeeds }): DecidedCalls {
  return {
    name: 'approvals',
    wrapSettle: (next) => async (input, context) =>
      next(decidedInput(input, context.openCalls), context),
    wrapRound: (next) => (round, context, steps) =>
      round.calls.every(isNew)
        ? next(round, context)
        : decideRound(round, next, { policy, context, steps }),
    wrapTool: (next) => (call, given) => {
      const { run, decision } = given;
      const isDecided = decision || run.status.calls.get(call.toolUse.id)?.approved;
      const needs = isDecided ? false : policy.needs(call, run);
      return needs ? decideCall(call, given, { policy, needs, next }) : next(call, given);
    },
  };
}

/** Returns whether the log says nothing about a tool call but that it was made. */
function isNew({ isKnown, state }: OpenCall): boolean {
  return isKnown && !state.decision && !state.pending;
}

interface Deciding {
  readonly policy: ApprovalPolicy;
  readonly context: RunContext;
  readonly steps: Steps;
}

/** Runs a round after the decisions about its tool calls. */
async function decideRound(
  round: Round,
  next: Step<Round, Next>,
  { policy, context, steps }: Deciding,
): Promise<Next> {
  const calls: OpenCall[] = [];
  for (const given of round.calls) {
    const call = await withDecision(given, context, steps);
    calls.push(await steps.wait(readyToAsk(call, context, policy)));
  }
  return next({ ...round, calls }, context);
}

/**
 * Applies the decision about a tool call. A rejection and a result end the tool call. An edit
 * changes its arguments.
 */
async function withDecision(call: OpenCall, context: RunContext, steps: Steps): Promise<OpenCall> {
  const { toolUse, state, result } = call;
  const { decision } = state;
  if (!decision || result || isForTool(call, context)) return call;
  if (decision.type === 'result') {
    const { output, state: how = 'success' } = decision;
    return { ...call, result: toolResult(toolUse, output, how) };
  }
  if (decision.type === 'reject')
    return { ...call, result: deniedResult(toolUse, decision.reason) };
  if (decision.type !== 'edit' || context.stopped === 'aborted') return call;
  if (isSameJson(toolUse.input, decision.input)) return call;
  const isReviewed = state.toolUse !== undefined;
  const edited = await editCall(toolUse, decision.input, { isReviewed, context, steps });
  // A round that is held comes here again.
  if (isReviewed) await noteEdit(edited, decision, steps);
  return { ...call, toolUse: edited };
}

function isSameJson(one: JsonValue, other: JsonValue): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Returns whether the tool itself receives the decision. An example is an agent tool whose child
 * agent has pending tool calls.
 */
function isForTool({ toolUse, state }: OpenCall, { tools }: RunContext): boolean {
  const waited = state.pending ?? state.waited;
  const tool = tools.find(toolUse.name);
  return (
    waited?.kind === 'suspended' &&
    // The answer to a tool that is gone now is not the tool's result.
    Boolean(typeof tool === 'object' ? tool.takesDecisions : waited.details)
  );
}

/**
 * Marks a tool call as not started if nobody noted whether it has started, and it needs an approval.
 * Lets `ask` ask again about a tool call that waits for an approval.
 */
async function readyToAsk(
  call: OpenCall,
  context: RunContext,
  policy: ApprovalPolicy,
): Promise<OpenCall> {
  const { pending, ...state } = call.state;
  if (policy.ask && pending?.kind === 'approval') return { ...call, state };
  if (call.isKnown || call.result) return call;
  const undecided = await isUndecided(call, context, policy);
  return undecided ? { ...call, state: { ...call.state, started: false } } : call;
}

interface Asking {
  readonly policy: ApprovalPolicy;
  /** Whether the tool call needs an approval, or the reason. */
  readonly needs: Awaitable<boolean | string>;
  readonly next: RunCall;
}

/** Runs a tool call once somebody has approved it, or if it needs no approval after all. */
async function decideCall(
  call: ReadyCall,
  given: RunCallOptions,
  { policy, needs, next }: Asking,
): Promise<ToolResult | Suspension> {
  const { toolUse } = call;
  const { run: context, steps } = given;
  let asked: boolean | string;
  try {
    asked = await steps.wait(needs);
  } catch (error) {
    // The tool has not started, so the run closes the call as interrupted.
    if (context.stopped === 'aborted') throw error;
    return errorResult(toolUse, messageOf(error));
  }
  if (!asked) return next(call, given);
  const suspended = asked === true ? '' : asked;
  const pending = pendingCall(toolUse, suspended);
  const decision = await askNow(pending, toolUse, { policy, context, steps });
  if (!decision) return { suspended, kind: 'approval' };
  if (decision.type === 'reject') return deniedResult(toolUse, decision.reason);
  const decided = decision.type === 'edit' ? await editNow(call, decision, given) : toolUse;
  // The tools may have changed while the approver was asked.
  const ready = await given.prepare(decided);
  if (!ready.ok) return errorResult(decided, ready.problem);
  return next(ready, { ...given, decision });
}

/** Asks for a decision, and notes the question and the decision in the log. */
async function askNow(
  pending: PendingCall,
  toolUse: ToolUse,
  { policy, context, steps }: Deciding,
): Promise<Decision | undefined> {
  if (!policy.ask) return undefined;
  // The log marks the tool call as suspended during the decision. If the process ends now, the next
  // run knows that the tool has not started.
  await steps.note([{ kind: 'suspended', calls: [{ pending, toolUse }] }], { now: true });
  const decision = await policy.ask(pending, context, steps);
  if (decision) await steps.note([{ kind: 'decision', decision }]);
  return decision;
}

/** Edits a tool call while the run waits, and notes it in the log. */
async function editNow(
  { toolUse }: ReadyCall,
  decision: Extract<Decision, { type: 'edit' }>,
  { run: context, steps }: RunCallOptions,
): Promise<ToolUse> {
  const edited = await editCall(toolUse, decision.input, { isReviewed: true, context, steps });
  await noteEdit(edited, decision, steps);
  return edited;
}

/** Notes the edited form of a tool call in the log. */
function noteEdit(toolUse: ToolUse, decision: Decision, steps: Steps): Promise<void> {
  const pending = pendingCall(toolUse, '');
  return steps.note([
    { kind: 'suspended', calls: [{ pending, toolUse }] },
    { kind: 'decision', decision },
  ]);
}

function pendingCall({ id: toolUseId, name, input }: ToolUse, reason: string): PendingCall {
  return { toolUseId, name, input, kind: 'approval', ...(reason && { reason }) };
}
