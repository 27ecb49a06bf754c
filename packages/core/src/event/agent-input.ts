import { AgentError, fieldOf, invalidInput } from '../error/agent-error.ts';
import {
  createMessage,
  toolUsesOf,
  type MessageContext,
  type Msg,
  type ToolResult,
  type ToolUse,
} from '../message/msg.ts';
import { isMessage } from '../message/is-message.ts';
import { isObjectOrArray } from '../message/json.ts';
import { checkDecision, type Decision } from './pending-call.ts';
import { openToolUses } from '../message/conversation/tool-pairs.ts';

/**
 * Input of an agent call: a text, one or more messages, or decisions about pending tool calls. A
 * list of messages may contain tool calls if it also contains their results. Without input, the
 * agent call continues from the log.
 */
export type AgentInput = string | Msg | readonly (Msg | PlainMessage)[] | readonly Decision[];

/**
 * A message with only a role and a text, as other libraries write it. The agent adds an id and a
 * time.
 */
export interface PlainMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** Input of an agent call, split into messages and decisions. */
export interface ParsedInput {
  readonly messages: readonly Msg[];
  readonly decisions: readonly Decision[];
  /**
   * What arrived while the agent call runs: messages that join it, or a decision of `decide`.
   * Absent for the input with which the agent call began.
   */
  readonly arrivedDuringRun?: 'messages' | 'decision';
}

/** Input of an agent call as `wrapSettle` gets it and passes it on. */
export interface SettleInput extends ParsedInput {
  /**
   * Open tool calls that end because of this input, with their results. The results are stored
   * after the messages, so a refused input ends no tool call.
   */
  readonly closes?: readonly { readonly toolUse: ToolUse; readonly result: ToolResult }[];
}

/**
 * Splits the input into messages and decisions. Throws `INVALID_INPUT` for a blank text, for an
 * item that is neither a message nor a decision, or for two messages with the same id.
 */
export function parseInput(
  input: AgentInput = [],
  { generateId, now }: Required<MessageContext>,
): ParsedInput {
  if (typeof input === 'string' && !input.trim())
    throw invalidInput('The input is an empty text. Pass a text or messages.');
  const list: readonly unknown[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : [input].flat();
  const messages: Msg[] = [];
  const decisions: Decision[] = [];
  for (const [index, item] of list.entries()) {
    if (isPlainMessage(item))
      messages.push(createMessage(item.role, item.content, { generateId, now }));
    else if (isMessage(item)) messages.push(item);
    else decisions.push(checkedDecision(item, index));
  }
  checkNewIds(messages, [], eachTime);
  if (decisions.length && messages.some(({ role }) => role !== 'tool'))
    throw new AgentError(
      'INVALID_DECISION',
      'The input has decisions and messages. Pass the decisions as `call(message, { decisions })`.',
    );
  return { messages, decisions };
}

/** Returns a decision of the input. Throws `INVALID_INPUT` for anything else. */
function checkedDecision(item: unknown, index: number): Decision {
  const where = `Item ${index} of the input`;
  if (fieldOf(item, 'toolUseId') === undefined)
    throw invalidInput(
      `${where} is neither a message nor a decision. Create messages with userMessage('…').`,
      { details: { index } },
    );
  checkDecision(item, where);
  return item;
}

/**
 * Converts the input to messages. Throws `INVALID_INPUT` if the input contains anything else, such
 * as decisions.
 */
export function toMessages(
  input: AgentInput | undefined,
  context: Required<MessageContext>,
): readonly Msg[] {
  const { messages, decisions } = parseInput(input, context);
  if (decisions.length) throw invalidInput('Only `call` and `stream` take decisions.');
  return messages;
}

/** Advice about two messages of the same id in one list, or from one hook. */
export const eachTime = 'Create a new message each time.';

/**
 * Throws `INVALID_INPUT` if two of the messages have the same id. Also throws if a message or tool
 * call of the conversation already has the id of a new one. Ids must be unique, because the log
 * removes and replaces messages by id, and finds results by the id of their tool call. `advice`:
 * what to do, for the error.
 */
export function checkNewIds(
  messages: readonly Msg[],
  conversation: readonly Msg[] = [],
  advice = 'To continue, call without input.',
): void {
  const ids = new Set<string>();
  const calls = new Set<string>();
  for (const message of messages) {
    checkUnused(message);
    ids.add(message.id);
    for (const { id } of toolUsesOf(message)) calls.add(id);
  }
  conversation.forEach(checkUnused);

  function checkUnused(message: Msg): void {
    const call = calls.size ? toolUsesOf(message).find(({ id }) => calls.has(id)) : undefined;
    const id = ids.has(message.id) ? message.id : call?.id;
    if (id === undefined) return;
    const text = `The id "${id}" is in use. ${advice}`;
    throw invalidInput(text, { details: { id } });
  }
}

function isPlainMessage(item: unknown): item is PlainMessage {
  return (
    isObjectOrArray(item) &&
    item['id'] === undefined &&
    ['user', 'assistant'].includes(item['role'] as string) &&
    typeof item['content'] === 'string' &&
    item['content'].trim() !== ''
  );
}

/** Throws `INVALID_INPUT` unless each tool call in the messages has a result after it. */
export function checkNoOpenCalls(messages: readonly Msg[]): void {
  const [openCall] = openToolUses(messages);
  if (!openCall) return;
  const { id } = openCall;
  const message = `The tool call "${id}" of the input needs a result after it.`;
  throw invalidInput(message, { details: { id } });
}
