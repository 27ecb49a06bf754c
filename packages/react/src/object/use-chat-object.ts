import {
  ObjectReader,
  type DeepPartial,
  getToolName,
  isToolUIPart,
  type UIMessage,
} from '@isoloop/core/stream';
import { outputToolName } from '@isoloop/core/host';
import type { AgentChatHelpers, AgentConversation } from '../hooks/use-agent-chat.ts';

/** What was read of the last answer of a conversation. */
interface Reading {
  readonly reader: ObjectReader;
  readonly source: string;
  readonly text: string;
}

const readings: WeakMap<AgentConversation, Reading> = new WeakMap();

/**
 * Returns the object of the last answer of a chat, while it arrives. The agent of the chat has an
 * output mode, such as `structured(schema)` in `use`. `T` is the type of the value of the schema.
 * The object is `undefined` before its first part arrives, and while the model corrects it.
 *
 * @example
 * const chat = useAgentChat(worker, { sessionId: 'trips' });
 * const trip = useChatObject<Trip>(chat);
 */
export function useChatObject<T = unknown>(
  chat: Pick<AgentChatHelpers, 'messages' | 'conversation'>,
): DeepPartial<T> | undefined {
  const { messages, conversation } = chat;
  const last = messages.at(-1);
  const { source, text, isOver } =
    last?.role === 'assistant' ? sourceOf(last) : { source: '', text: '', isOver: true };
  const lastReading = readings.get(conversation);
  const isMore = lastReading?.source === source && text.startsWith(lastReading.text);
  const reader = isMore ? lastReading.reader : new ObjectReader();
  const piece = isMore ? text.slice(lastReading.text.length) : text;
  // Rendering twice reads nothing twice, and the value depends on the messages alone.
  if (source.startsWith('call')) reader.source.input(source, piece);
  else reader.source.text(source, piece);
  readings.set(conversation, { reader, source, text });
  reader.update(isOver);
  return reader.value as DeepPartial<T> | undefined;
}

interface Source extends Pick<Reading, 'source' | 'text'> {
  /** Whether the text has its end. Until then, a long open list is read less often. */
  readonly isOver: boolean;
}

/**
 * Returns the text with the object: the arguments of the output tool, or the text of the answer.
 */
function sourceOf({ id, parts }: UIMessage): Source {
  const step = parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1);
  const text = step.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const call = step.findLast((part) => isToolUIPart(part) && getToolName(part) === outputToolName);
  if (text || !call || !('toolCallId' in call)) {
    const isOver = !step.some((part) => part.type === 'text' && part.state === 'streaming');
    return { source: `text ${id}`, text, isOver };
  }
  const { toolCallId, state, input } = call;
  const isOver = state !== 'input-streaming';
  const args = isOver ? JSON.stringify(input) : call.rawInput;
  return { source: `call ${toolCallId}`, text: args ?? '', isOver };
}
