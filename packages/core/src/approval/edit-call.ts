import type { OpenCall, Run } from '../agent/middleware.ts';
import { AgentError } from '../error/agent-error.ts';
import type { Decision, PendingCall } from '../event/pending-call.ts';
import {
  isSameJson,
  isRecord,
  jsonForm,
  pickFields,
  type JsonObject,
  type JsonValue,
} from '../message/json.ts';
import { withEditedCall } from '../message/metadata.ts';
import type { ToolUse } from '../message/msg.ts';
import { toolOf, type ToolSet } from '../tool/set/tool-set.ts';
import { correctThem, isForTool, prepareCall, withInput } from '../tool/tool-call.ts';

/** A decision to run a tool call with other arguments. */
type EditDecision = Extract<Decision, { type: 'edit' }>;

/**
 * Returns why a tool call cannot run with the arguments of a person, or `undefined`. The words are
 * for the person, who can send another decision. `toolUse`: the tool call before the edit.
 */
export async function editProblem(
  tools: ToolSet,
  toolUse: ToolUse,
  { input }: EditDecision,
): Promise<string | undefined> {
  const prepared = await prepareCall(tools, withInput(toolUse, input));
  if (prepared.ok) return undefined;
  const problem = prepared.problem.replace(correctThem, '').replace(/\.$/, '');
  return `cannot run with these arguments. ${problem}`;
}

/**
 * Returns the decisions with copies of edited arguments. Throws `INVALID_DECISION` for arguments
 * that do not fit the schema of their tool, before anything is stored. All tool calls then still
 * wait.
 */
export async function checkedEdits(
  decisions: readonly Decision[],
  run: Run,
): Promise<readonly Decision[]> {
  const checkedDecisions: Decision[] = [];
  for (const decision of decisions) {
    const call = run.calls.open.find(({ toolUse }) => toolUse.id === decision.toolUseId);
    if (decision.type !== 'edit' || !call) {
      checkedDecisions.push(decision);
      continue;
    }
    // The caller may change its object while a rule of the schema waits.
    const edit = { ...decision, input: jsonForm(decision.input, 'The edited arguments')! };
    checkedDecisions.push(edit);
    // A tool that asked something gets the edit as its answer.
    const waitedFor = call.state.pending ?? call.state.waitedFor;
    if (isForTool({ ...call.state, waitedFor }, run.tools.current)) continue;
    const problem = await run.wait.for(editProblem(run.tools.current, call.toolUse, edit));
    if (problem) throw editError(edit, problem);
  }
  return checkedDecisions;
}

/** Returns the error for an edit. `problem`: result of `editProblem()`. */
function editError({ toolUseId }: EditDecision, problem: string): AgentError {
  const message = `Tool call ${JSON.stringify(toolUseId)} ${problem}.`;
  return new AgentError('INVALID_DECISION', message, { details: { toolUseId } });
}

/** Stores the edits of tool calls, unless the log has them. Does nothing if no tool may start. */
export async function storeEdits(calls: readonly OpenCall[], run: Run): Promise<void> {
  for (const { toolUse, state } of calls) {
    const { decision } = state;
    const { stopped } = run.ending;
    if (stopped === 'aborted' || stopped === 'interrupted') return;
    if (decision?.type !== 'edit' || isForTool(state, run.tools.current)) continue;
    await storeEdit(toolUse, decision, run);
  }
}

/**
 * Stores a person's edit and returns the edited tool call. The log, the model and the readers get
 * the new arguments before validation. A validation error then matches the arguments that they see.
 * Preset parameters, which the model does not see, go only to the tool. If the `pre-acting` hooks
 * have already run, only readers get their event again.
 */
export async function storeEdit(
  toolUse: ToolUse,
  decision: EditDecision,
  run: Run,
): Promise<ToolUse> {
  const { id, name } = toolUse;
  const input = jsonForm(decision.input, 'The edited arguments')!;
  const editedCall = withInput(toolUse, input);
  const visibleInput = withoutHidden(run, name, input);
  const replace = run.messages.flatMap((message) => {
    const changedMessage = withEditedCall(message, id, visibleInput);
    return changedMessage === message ? [] : changedMessage;
  });
  if (replace.length) await run.log.edit({ replace });
  const state = run.calls.open.find((call) => call.toolUse.id === id)?.state;
  if (!state?.toolUse) return editedCall;
  // A deferred round comes here again after the edit.
  if (!replace.length && isSameJson(state.toolUse.input, input)) return editedCall;
  const visibleCall = { ...editedCall, input: visibleInput };
  await run.events.emit('pre-acting', { toolUse: visibleCall }, { to: 'readers' });
  // The log has the form that the hooks have seen. The edited form takes its place.
  const { pending: lastPending, waitedFor = lastPending } = state;
  const pending: PendingCall = { toolUseId: id, name, kind: 'approval', ...waitedFor, input };
  await run.calls.note([
    { kind: 'suspended', calls: [{ pending, toolUse: editedCall }] },
    { kind: 'decision', decision },
  ]);
  return editedCall;
}

function withoutHidden({ tools }: Run, name: string, input: JsonValue): JsonValue {
  const preset = toolOf(tools.current, name)?.preset;
  if (!preset || !isRecord(input)) return input;
  return pickFields(input, (key) => !Object.hasOwn(preset, key)) as JsonObject;
}
