import type { RunContext, Steps } from '../../agent/middleware.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import {
  isSameJson,
  isRecord,
  jsonForm,
  pickFields,
  type JsonObject,
  type JsonValue,
} from '../../message/json.ts';
import { withEditedCall } from '../../message/metadata.ts';
import type { ToolUse } from '../../message/msg.ts';
import { toolOf } from '../../tool/set/tool-set.ts';

/** The run whose tool calls are decided. */
export interface DecidedRun {
  readonly context: RunContext;
  readonly steps: Steps;
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
  const state = context.openCalls.find((call) => call.toolUse.id === id)?.state;
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
