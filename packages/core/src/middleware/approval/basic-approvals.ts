import type { ParsedInput } from '../../event/agent-input.ts';
import {
  isSameJson,
  isRecord,
  jsonForm,
  pickFields,
  type JsonObject,
  type JsonValue,
} from '../../message/json.ts';
import type {
  InnerStep,
  Middleware,
  OpenCall,
  Round,
  RunContext,
  Steps,
} from '../../agent/middleware.ts';
import type { Next } from '../../agent/next.ts';
import { AgentError, errorText } from '../../error/agent-error.ts';
import type { Awaitable } from '../../event/hook.ts';
import { checkDecision, type Decision, type PendingCall } from '../../event/pending-call.ts';
import { toolResultsOf, toolUsesOf, type ToolUse } from '../../message/msg.ts';
import { withEditedCall } from '../../message/metadata.ts';
import {
  decidedResult,
  errorResult,
  isForTool,
  type ToolCall,
  type ToolOutcome,
} from '../../tool/tool-call.ts';
import { toolOf } from '../../tool/set/tool-set.ts';
import {
  isUndecided,
  toolNeedsApproval,
  withoutStart,
  type NeedsApproval,
} from './approval-rules.ts';

/** The parts of the middleware `approvals`. */
export type BasicApprovals = Required<
  Pick<Middleware, 'name' | 'wrapSettle' | 'wrapRound' | 'wrapTool'>
>;

/**
 * Carries out decisions about tool calls, and suspends tool calls that need an approval. Default of
 * `needs`: asks the tool's `needsApproval`.
 */
export function basicApprovals(needs: NeedsApproval = toolNeedsApproval): BasicApprovals {
  return {
    name: 'approvals',
    wrapSettle: (next) => async (input, context) => next(decidedInput(input, context.openCalls)),
    wrapRound: (next) => (round, context, steps) =>
      round.calls.every(isNew) ? next(round) : decideRound(round, next, needs, { context, steps }),
    wrapTool: (next) => (call, context, steps) => {
      // The open calls come last, because to read them for each call of a round is quadratic.
      const isNeeded = !call.decision && needs(call, context);
      return isNeeded ? runUnlessNeeded(call, next, isNeeded, { context, steps }) : next(call);
    },
  };
}

function findOpenCall({ openCalls }: RunContext, { id }: ToolUse): OpenCall | undefined {
  return openCalls.find(({ toolUse }) => toolUse.id === id);
}

/** The run whose tool calls are decided. */
interface DecidedRun {
  readonly context: RunContext;
  readonly steps: Steps;
}

/** Suspends a tool call that needs an approval. Runs the tool call otherwise. */
async function runUnlessNeeded(
  call: ToolCall,
  next: InnerStep<ToolCall, ToolOutcome>,
  isNeeded: Awaitable<boolean | string>,
  { context, steps }: DecidedRun,
): Promise<ToolOutcome> {
  let reason: boolean | string;
  const isApproved = (): unknown => findOpenCall(context, call.toolUse)?.state.approved;
  try {
    reason = await steps.wait(isNeeded);
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

/**
 * Adds decisions about the open tool calls to an input with new messages. Throws `INVALID_INPUT`
 * for an invalid one.
 */
export function addDecisions(decisions: readonly Decision[]): Middleware {
  decisions.forEach((item, index) => checkDecision(item, `Item ${index} of \`decisions\``));
  return {
    wrapInput: (next) => (input) => {
      const hasMessages = input.messages.some(({ role }) => role !== 'tool');
      if (!hasMessages) return next(input);
      return next({ ...input, decisions: [...input.decisions, ...decisions] });
    },
  };
}

/**
 * Returns the input with all its decisions. A tool result in the messages counts as a decision
 * (AgentScope: resume with tool results), unless the messages contain its tool call. Throws
 * `INVALID_DECISION` if a decision does not match an open tool call, or if two decisions are for
 * the same one. Also throws if tool results come with other messages.
 */
function decidedInput(input: ParsedInput, openCalls: readonly OpenCall[]): ParsedInput {
  const { messages } = input;
  const callIds = new Set(messages.flatMap(toolUsesOf).map(({ id }) => id));
  const results = messages
    .flatMap(toolResultsOf)
    .filter(({ toolUseId }) => !callIds.has(toolUseId));
  const resultDecisions = results.map(
    (result) => ({ ...result, name: result.name || undefined, type: 'result' }) as Decision,
  );
  const decisions = [...input.decisions, ...resultDecisions];
  checkDecisions(decisions, openCalls);
  if (!resultDecisions.length) return input;
  const isResult = ({ type }: { readonly type: string }): boolean => type === 'tool_result';
  if (!messages.every(({ content }) => content.every(isResult)))
    throw new AgentError('INVALID_DECISION', 'Send decisions without other input.');
  return { ...input, messages: [], decisions };
}

function checkDecisions(decisions: readonly Decision[], openCalls: readonly OpenCall[]): void {
  const undecidedCalls = new Map(openCalls.map(({ toolUse }) => [toolUse.id, toolUse.name]));
  for (const { toolUseId: id, name } of decisions) {
    const isOfAnotherTool = name !== undefined && undecidedCalls.get(id) !== name;
    if (!isOfAnotherTool && undecidedCalls.delete(id)) continue;
    const message = `Tool call "${id}" is not open, belongs to another tool, or has two decisions.`;
    throw new AgentError('INVALID_DECISION', message);
  }
}

/** Returns whether the log says nothing about a tool call but that it was made. */
function isNew({ isNoted, state }: OpenCall): boolean {
  return isNoted && !state.decision && !state.pending;
}

/** Runs a round after the decisions about its tool calls. */
async function decideRound(
  round: Round,
  next: InnerStep<Round, Next>,
  needs: NeedsApproval,
  run: DecidedRun,
): Promise<Next> {
  const { context, steps } = run;
  const calls: OpenCall[] = [];
  for (const openCall of round.calls) {
    const call = await applyDecision(openCall, run);
    // A call without a note has not started if it needs an approval.
    const isOpen = !call.isNoted && (await steps.wait(isUndecided(call, context, needs)));
    calls.push(isOpen ? withoutStart(call) : call);
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

/**
 * Applies a person's edit and returns the edited tool call. The log, the model and the readers get
 * the new arguments before validation. A validation error then matches the arguments that they see.
 * Preset parameters, which the model does not see, go only to the tool. If the `pre-acting` hooks
 * have already run, only readers get their event again.
 */
export async function editCall(
  { raw: _raw, ...toolUse }: ToolUse,
  decision: Extract<Decision, { type: 'edit' }>,
  { context, steps }: DecidedRun,
): Promise<ToolUse> {
  const { id, name } = toolUse;
  const input = jsonForm(decision.input, 'The edited arguments')!;
  const editedCall: ToolUse = { ...toolUse, input };
  const visibleInput = withoutHidden(context, name, input);
  const replace = context.messages.flatMap((message) => {
    const changedMessage = withEditedCall(message, id, visibleInput);
    return changedMessage === message ? [] : changedMessage;
  });
  if (replace.length) await steps.edit({ replace });
  // A deferred round comes here again after the edit.
  else if (isSameJson(toolUse.input, input)) return toolUse;
  const state = findOpenCall(context, toolUse)?.state;
  if (!state?.toolUse) return editedCall;
  const visibleCall = { ...editedCall, input: visibleInput };
  await steps.emit('pre-acting', { toolUse: visibleCall }, { to: 'readers' });
  // The log has the form that the hooks have seen. The edited form takes its place.
  const { pending: lastPending, waitedFor = lastPending } = state;
  const pending: PendingCall = { toolUseId: id, name, kind: 'approval', ...waitedFor, input };
  await steps.note([
    { kind: 'suspended', calls: [{ pending, toolUse: editedCall }] },
    { kind: 'decision', decision },
  ]);
  return editedCall;
}

function withoutHidden({ tools }: RunContext, name: string, input: JsonValue): JsonValue {
  const preset = toolOf(tools, name)?.preset;
  if (!preset || !isRecord(input)) return input;
  return pickFields(input, (key) => !Object.hasOwn(preset, key)) as JsonObject;
}
