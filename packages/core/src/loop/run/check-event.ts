import { AgentError } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/check-fields.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { isBlock, isToolResult } from '../../message/validation/is-block.ts';
import { jsonForm } from '../../message/json/json-form.ts';
import { generateFields } from '../../model/generate-fields.ts';
import type { Msg } from '../../message/msg.ts';
import { forModel, openCalls } from '../../message/tool-pairs.ts';
import { isMessage } from '../input/call-input.ts';

const areMessages = (value: unknown): value is readonly Msg[] =>
  Array.isArray(value) && value.every(isMessage);

/** Check for each field of a modifiable event. An invalid field would break the log. */
const isValidField: Readonly<Record<string, (value: unknown) => boolean>> = {
  message: isMessage,
  // Each tool call must be followed by its result.
  messages: (value) => areMessages(value) && !openCalls(value).length && forModel(value) === value,
  input: areMessages,
  toolUse: isBlock,
  problem: () => true,
  result: (value) => isToolResult(jsonForm(value, 'The result')),
  tools: Array.isArray,
  options: (value) => {
    checkOptions('HOOK_ERROR', 'options', value as object, generateFields);
    return true;
  },
};

/** Throws `HOOK_ERROR` if the hooks left an invalid value in one of the event's fields. */
export function checkEvent(event: AgentEvent, fields: readonly string[]): void {
  for (const field of fields) checkField(event, field);
}

function checkField(event: AgentEvent, field: string): void {
  const { type } = event;
  let cause: unknown;
  try {
    if (isValidField[field]!(event[field as keyof typeof event])) return;
  } catch (thrown) {
    cause = thrown;
  }
  throw new AgentError('HOOK_ERROR', `A hook or policy returned invalid ${field} for ${type}.`, {
    cause,
    details: { event: type, field },
  });
}
