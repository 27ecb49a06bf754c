import { AgentError } from '../../error/agent-error.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { isBlock } from '../../message/is-block.ts';
import { isRecord } from '../../message/is-record.ts';
import type { Msg } from '../../message/msg.ts';
import { forModel, openCalls } from '../../message/tool-pairs.ts';
import { isMessage } from '../call-input.ts';

const areMessages = (value: unknown): value is readonly Msg[] =>
  Array.isArray(value) && value.every(isMessage);

/** Checks for the fields of modifiable events: no hook may break the log. */
const isValidField: Readonly<Record<string, (value: unknown) => boolean>> = {
  message: isMessage,
  // Law 3: each call is followed by its result.
  messages: (value) => areMessages(value) && !openCalls(value).length && forModel(value) === value,
  input: areMessages,
  toolUse: isBlock,
  problem: () => true,
  result: isBlock,
  tools: Array.isArray,
  options: isRecord,
};

/** Throws `HOOK_ERROR` if the hooks left an invalid value in one of the event's fields. */
export function checkEvent(event: AgentEvent, fields: readonly string[]): void {
  const { type } = event;
  const wrong = fields.find((key) => !isValidField[key]!(event[key as keyof typeof event]));
  if (!wrong) return;
  throw new AgentError('HOOK_ERROR', `A hook or policy returned invalid ${wrong} for ${type}.`, {
    details: { event: type, field: wrong },
  });
}
