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
import type { ToolUse } from '../../message/content-block.ts';
import type { ReadyCall } from '../../tool/prepare-call.ts';
import type { ToolOutcome } from '../../tool/tool-outcome.ts';
import { deniedResult, errorResult, toolResult } from '../../tool/tool-result.ts';
import { isUndecided, toolNeeds, type NeedsApproval } from './approval-policy.ts';
import { decidedInput } from './decided-input.ts';
import { editCall } from './edit-call.ts';

/** The parts of the middleware `approvals`. */
export type DecidedCalls = Required<
  Pick<Middleware, 'name' | 'wrapSettle' | 'wrapRound' | 'wrapTool'>
>;

/**
 * Carries out decisions about tool calls, and suspends tool calls that need an approval. Default of
 * `needs`: asks the tool's `needsApproval`.
 */
export function decidedCalls(needs: NeedsApproval = toolNeeds): DecidedCalls {
  return {
    name: 'approvals',
    wrapSettle: (next) => async (input, context) =>
      next(decidedInput(input, context.openCalls), context),
    wrapRound: (next) => (round, context, steps) =>
      round.calls.every(isNew)
        ? next(round, context)
        : decideRound(round, next, { needs, context, steps }),
    wrapTool: (next) => (call, given) => {
      const { run, decision } = given;
      const isDecided = decision || openCall(run, call.toolUse)?.state.approved;
      const isNeeded = !isDecided && needs(call, run);
      return isNeeded ? runUnlessNeeded(call, given, { isNeeded, next }) : next(call, given);
    },
  };
}

function openCall({ openCalls }: RunContext, { id }: ToolUse): OpenCall | undefined {
  return openCalls.find(({ toolUse }) => toolUse.id === id);
}

/** Returns whether the log says nothing about a tool call but that it was made. */
function isNew({ isKnown, state }: OpenCall): boolean {
  return isKnown && !state.decision && !state.pending;
}

interface Deciding {
  readonly needs: NeedsApproval;
  readonly context: RunContext;
  readonly steps: Steps;
}

/** Runs a round after the decisions about its tool calls. */
async function decideRound(
  round: Round,
  next: Step<Round, Next>,
  { needs, context, steps }: Deciding,
): Promise<Next> {
  const calls: OpenCall[] = [];
  for (const given of round.calls) {
    const call = await withDecision(given, context, steps);
    calls.push(await steps.wait(withStart(call, context, needs)));
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
  const startsNoTool = context.stopped === 'aborted' || context.stopped === 'interrupted';
  if (decision.type !== 'edit' || startsNoTool) return call;
  const isReviewed = state.toolUse !== undefined;
  return { ...call, toolUse: await editCall(toolUse, decision, { isReviewed, context, steps }) };
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
 */
async function withStart(
  call: OpenCall,
  context: RunContext,
  needs: NeedsApproval,
): Promise<OpenCall> {
  if (call.isKnown || call.result || !(await isUndecided(call, context, needs))) return call;
  return { ...call, state: { ...call.state, started: false } };
}

interface Needed {
  readonly isNeeded: Awaitable<boolean | string>;
  readonly next: RunCall;
}

/** Suspends a tool call that needs an approval. Runs the tool call otherwise. */
async function runUnlessNeeded(
  call: ReadyCall,
  given: RunCallOptions,
  { isNeeded, next }: Needed,
): Promise<ToolOutcome> {
  const { run, steps } = given;
  let reason: boolean | string;
  try {
    reason = await steps.wait(isNeeded);
  } catch (error) {
    // The tool has not started, so the run closes the call as interrupted.
    if (run.stopped === 'aborted') throw error;
    return errorResult(call.toolUse, messageOf(error));
  }
  if (!reason) return next(call, given);
  return { suspended: reason === true ? '' : reason, kind: 'approval' };
}
