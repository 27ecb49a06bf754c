import { AgentError } from '../error/agent-error.ts';
import { createMessage, type MessageContext } from '../message/create-message.ts';
import { isBlock, isOutput } from '../message/is-block.ts';
import { isRecord } from '../message/is-record.ts';
import { toolResultsOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { jsonCopy } from '../message/parse-json.ts';
import type { Decision } from '../event/pending-call.ts';

/**
 * Input of a call: text, one message, several, or decisions about pending tool calls. Without input
 * the call continues from the log.
 */
export type AgentInput = string | Msg | readonly (Msg | PlainMessage)[] | readonly Decision[];

/** A message as other libraries write it. The agent adds an id and a time. */
export interface PlainMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** The input of a call as messages. `decisions` holds the decisions of an input array. */
export interface CallInput {
  readonly messages: readonly Msg[];
  readonly decisions: readonly Decision[];
}

/**
 * Converts the input. Throws `INVALID_INPUT` for a blank text, or for an item that is neither a
 * message nor a decision.
 */
export function toCallInput(input: AgentInput = [], context: MessageContext): CallInput {
  if (typeof input === 'string' && !input.trim())
    throw new AgentError('INVALID_INPUT', 'The input is empty.');
  const given: readonly unknown[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : [input].flat();
  const items = given.map((item) =>
    isPlainMessage(item) ? createMessage(item.role, item.content, context) : item,
  );
  const index = items.findIndex((item) => !isMessage(item) && !isDecision(item));
  if (index >= 0)
    throw new AgentError(
      'INVALID_INPUT',
      `Item ${index} of the input is neither a message nor a decision. Create messages with userMessage('…').`,
      { details: { index } },
    );
  return { messages: items.filter(isMessage), decisions: items.filter(isDecision) };
}

/**
 * Returns the decisions. Tool results among the messages count as decisions, too (AgentScope:
 * resume with tool results).
 */
export function decisionsIn({ messages, decisions }: CallInput): readonly Decision[] {
  const results = messages.flatMap(toolResultsOf);
  return [...decisions, ...results.map((result) => ({ ...result, type: 'result' }) as Decision)];
}

export function isMessage(item: unknown): item is Msg {
  return (
    isRecord(item) &&
    typeof item['id'] === 'string' &&
    /^(system|user|assistant|tool)$/.test(String(item['role'])) &&
    Array.isArray(item['content']) &&
    item['content'].every(isBlock)
  );
}

function isPlainMessage(item: unknown): item is PlainMessage {
  return (
    isRecord(item) &&
    item['id'] === undefined &&
    /^(user|assistant)$/.test(String(item['role'])) &&
    typeof item['content'] === 'string' &&
    item['content'].trim() !== ''
  );
}

export function isDecision(item: unknown): item is Decision {
  if (!isRecord(item) || typeof item['toolUseId'] !== 'string') return false;
  const { type, input, output, state } = item;
  if (type === 'result')
    return isOutput(output) && /^(undefined|success|error)$/.test(String(state));
  return type === 'edit' ? jsonCopy(input) !== undefined : type === 'approve' || type === 'reject';
}
