import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import type { Decision, PendingCall } from '../../event/pending-call.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { withEditedCall } from '../../message/edited-call.ts';
import { isRecord } from '../../message/json/is-record.ts';
import { jsonForm } from '../../message/json/json-form.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { toolUsesOf } from '../../message/message-text.ts';

interface EditOptions {
  /** Whether the `pre-acting` hooks have already run. Only readers get the event then. */
  readonly isReviewed: boolean;
  readonly context: RunContext;
  readonly steps: Steps;
}

/**
 * Applies a person's edit and returns the edited tool call. The log, the model and the readers get
 * the new arguments before validation. A validation error then matches the arguments that they see.
 * Preset parameters, which the model does not see, go only to the tool.
 */
export async function editCall(
  { raw: _raw, ...toolUse }: ToolUse,
  decision: Extract<Decision, { type: 'edit' }>,
  { isReviewed, context, steps }: EditOptions,
): Promise<ToolUse> {
  const { id, name } = toolUse;
  const input = jsonForm(decision.input, 'The edited arguments')!;
  const edited: ToolUse = { ...toolUse, input };
  const shown = withoutHidden(context, name, input);
  const message = context.messages.find((one) => toolUsesOf(one).some((call) => call.id === id));
  const changed = message && withEditedCall(message, id, shown);
  // A held round comes here again after the edit.
  if (changed === message && isSameJson(toolUse.input, input)) return toolUse;
  if (changed && changed !== message) await steps.replace(changed);
  if (!isReviewed) return edited;
  await steps.show('pre-acting', { toolUse: { ...edited, input: shown } });
  // The log has the form that the hooks have seen. The edited form takes its place.
  const { state } = context.openCalls.find((call) => call.toolUse.id === id) ?? {};
  const { pending: before, waited = before } = state ?? {};
  const pending: PendingCall = { toolUseId: id, name, kind: 'approval', ...waited, input };
  await steps.note([
    { kind: 'suspended', calls: [{ pending, toolUse: edited }] },
    { kind: 'decision', decision },
  ]);
  return edited;
}

function isSameJson(one: JsonValue, other: JsonValue): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function withoutHidden({ tools }: RunContext, name: string, input: JsonValue): JsonValue {
  const tool = tools.find(name);
  const preset = typeof tool === 'object' && tool.preset;
  if (!preset || !isRecord(input) || Array.isArray(input)) return input;
  const isShown = ([key]: readonly [string, JsonValue]): boolean => !Object.hasOwn(preset, key);
  return Object.fromEntries(Object.entries(input).filter(isShown));
}
