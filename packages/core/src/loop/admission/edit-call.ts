import type { CallState } from '../../event/call-state.ts';
import type { Memory } from '../../memory/memory.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { withEditedCall } from '../../message/edited-call.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { toolUsesOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import { jsonForm } from '../../message/json/json-form.ts';
import type { Run } from '../run/run.ts';

/**
 * Applies a person's edit and returns the edited tool call. The log, the model and the readers get
 * the new arguments before validation. A validation error then matches the arguments that they see.
 * Preset parameters, which the model does not see, go only to the tool.
 */
export async function editCall(
  run: Run,
  { id, ...asked }: ToolUse,
  state: CallState,
  given: JsonValue,
): Promise<ToolUse> {
  const { raw: _raw, ...left } = state.toolUse ?? asked;
  const input = jsonForm(given, 'The edited arguments')!;
  const edited: ToolUse = { ...left, id, input };
  const shown = withoutHidden(run, edited.name, input);
  const message = run.view.find((one) => toolUsesOf(one).some((call) => call.id === id));
  const changed = message && withEditedCall(message, id, shown);
  if (changed && changed !== message) await replaceMessage(run, changed);
  if (state.toolUse) {
    // The `pre-acting` hooks have already run for this tool call, so only readers get the event.
    state.toolUse = edited;
    await run.push([run.event('pre-acting', { toolUse: { ...edited, input: shown } })]);
  }
  return edited;
}

function withoutHidden({ tools }: Run, name: string, input: JsonValue): JsonValue {
  const tool = tools.find(name);
  const preset = typeof tool === 'object' && tool.preset;
  if (!preset || !isRecord(input) || Array.isArray(input)) return input;
  const isShown = ([key]: readonly [string, JsonValue]): boolean => !Object.hasOwn(preset, key);
  return Object.fromEntries(Object.entries(input).filter(isShown));
}

/**
 * Replaces the message with the same id in `run.view` and in the log. Changes `run.view` first,
 * because another edit of the same message may run at the same time.
 */
async function replaceMessage(run: Run, message: Msg): Promise<void> {
  run.view = run.view.map((one) => (one.id === message.id ? message : one));
  await run.writes.wait(replaceInLog(run.setup.memory, message));
}

async function replaceInLog(memory: Memory, message: Msg): Promise<void> {
  if (memory.replace) return memory.replace(message);
  const log = await memory.read();
  const [found, ...later] = log.slice(log.findIndex(({ id }) => id === message.id));
  if (found?.id !== message.id) return;
  await memory.delete([found, ...later].map(({ id }) => id));
  await memory.append([message, ...later]);
}
