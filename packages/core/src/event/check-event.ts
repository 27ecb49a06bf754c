import { AgentError, errorText } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import type { AgentEvent } from './agent-event.ts';
import { checkNewIds, eachTime } from './agent-input.ts';
import { isBlock, isMessage, isToolResult } from '../message/is-message.ts';
import { jsonForm } from '../message/json.ts';
import { generateOptions } from '../model/chat-model.ts';
import type { Msg } from '../message/msg.ts';
import { pairedForModel, openToolUses } from '../message/conversation/tool-pairs.ts';

const areMessages = (value: unknown): value is readonly Msg[] =>
  Array.isArray(value) && value.every(isMessage);

/** Returns whether a model can get these messages: each tool call is followed by its result. */
const areComplete = (value: unknown): boolean =>
  areMessages(value) && !openToolUses(value).length && pairedForModel(value) === value;

const checkSame = (value: unknown, sentValue: unknown): void => {
  if (value !== sentValue) throw new Error('Return a changed copy of the event, or nothing.');
};

/** Returns whether these are messages. Throws `INVALID_INPUT` if two of them have the same id. */
function isInput(value: unknown): boolean {
  if (!areMessages(value)) return false;
  checkNewIds(value, [], eachTime);
  return true;
}

/**
 * Check for each field that a hook could break. An invalid field would break the log. A failed
 * check returns false or throws. `sentValue`: the value that the run sent.
 */
const checks: Readonly<Record<string, (value: unknown, sentValue: unknown) => boolean | void>> = {
  type: checkSame,
  seq: checkSame,
  message: isMessage,
  messages: areComplete,
  input: isInput,
  toolUse: (value) => isBlock(value) && value.type === 'tool_use' && typeof value.name === 'string',
  result: (value) => isToolResult(jsonForm(value, 'The result')),
  tools: Array.isArray,
  options: (value) => checkOptions('options', value as object, generateOptions, 'HOOK_ERROR'),
};

/** Throws `HOOK_ERROR` if middleware has made messages that a model cannot get. */
export function checkRequest(messages: readonly Msg[]): void {
  if (areComplete(messages)) return;
  const message = 'Middleware must leave valid messages in a model request.';
  throw new AgentError('HOOK_ERROR', message, {
    details: { event: 'pre-reasoning', field: 'messages' },
  });
}

/**
 * Throws `HOOK_ERROR` if a field of an event is invalid. `event`: the event of the run, which the
 * hook with the name `hook` has changed.
 */
export function checkEvent(hookEvent: AgentEvent, event: AgentEvent, hook: string): void {
  const { type } = event;
  for (const field of Object.keys(event)) {
    const key = field as 'type';
    let cause: unknown;
    try {
      if (checks[field]?.(hookEvent[key], event[key]) !== false) continue;
    } catch (thrown) {
      cause = thrown;
    }
    const why = cause ? ` ${errorText(cause)}` : '';
    const message = `Hook "${hook}" must return valid \`${field}\` at ${type}.${why}`;
    throw new AgentError('HOOK_ERROR', message, { cause, details: { hook, event: type, field } });
  }
}
