import { AgentError, messageOf } from '../error/agent-error.ts';
import { checkOptions } from '../error/check-fields.ts';
import type { AgentEvent } from './agent-event.ts';
import { isBlock, isToolResult } from '../message/validation/is-block.ts';
import { jsonForm } from '../message/json/json-form.ts';
import { generateFields } from '../model/chat-model.ts';
import type { Msg } from '../message/msg.ts';
import { forModel, openCalls } from '../message/tool-pairs.ts';
import { isMessage } from '../message/is-message.ts';

const areMessages = (value: unknown): value is readonly Msg[] =>
  Array.isArray(value) && value.every(isMessage);

const checkSame = (value: unknown, before: unknown): void => {
  if (value !== before) throw new Error('Return a changed copy of the event, or nothing.');
};

/**
 * Check for each field that a hook could break. An invalid field would break the log. A failed
 * check returns false or throws. `before`: the value that the run sent.
 */
const checks: Readonly<Record<string, (value: unknown, before: unknown) => boolean | void>> = {
  type: checkSame,
  seq: checkSame,
  message: isMessage,
  // Each tool call must be followed by its result.
  messages: (value) => areMessages(value) && !openCalls(value).length && forModel(value) === value,
  input: areMessages,
  toolUse: (value) => isBlock(value) && value.type === 'tool_use' && typeof value.name === 'string',
  result: (value) => isToolResult(jsonForm(value, 'The result')),
  tools: Array.isArray,
  options: (value) => checkOptions('HOOK_ERROR', 'options', value as object, generateFields),
};

/**
 * Throws `HOOK_ERROR` if a field of an event is invalid. `event`: the event of the run, which the
 * hook with the name `hook` has changed. Without `hook`, checks the event before any hook.
 */
export function checkEvent(
  returned: AgentEvent,
  event: AgentEvent = returned,
  hook?: string,
): void {
  const { type } = event;
  for (const field of Object.keys(event)) {
    const key = field as 'type';
    let cause: unknown;
    try {
      if (checks[field]?.(returned[key], event[key]) !== false) continue;
    } catch (thrown) {
      cause = thrown;
    }
    const who = hook ? `Hook "${hook}"` : 'A model, tool or policy';
    const why = cause ? ` ${messageOf(cause)}` : '';
    const message = `${who} must return valid \`${field}\` at ${type}.${why}`;
    const details = { ...(hook && { hook }), event: type, field };
    throw new AgentError('HOOK_ERROR', message, { cause, details });
  }
}
