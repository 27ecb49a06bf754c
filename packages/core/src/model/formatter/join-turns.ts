import { hasToolResults, type Msg } from '../../message/msg.ts';

/**
 * Joins the system messages at the start, and makes a later one a message of the user, where it has
 * its place.
 */
export function joinSystem(messages: readonly Msg[]): readonly Msg[] {
  const turns: Msg[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (message.role !== 'system' || !last) turns.push(message);
    else if (last.role === 'system') turns.splice(-1, 1, joinPair(last, message));
    else turns.push({ ...message, role: 'user' });
  }
  return turns;
}

/** Adds a message of the user if the last message to send is one of the assistant. */
export function endWithUser(messages: readonly Msg[]): readonly Msg[] {
  return messages.findLast(isSent)?.role === 'assistant' ? [...messages, goOn] : messages;
}

/**
 * Joins adjacent messages of the user, and adjacent messages of the assistant. After an
 * interruption, a conversation may have two messages of the user, which some servers refuse for
 * ever. Adds a reply between results and a message of the user, because
 * [Mistral](https://github.com/avante-corp/avante.nvim/pull/2695) wants one. `messages`: fitted
 * ones; drops replies that have nothing to send.
 */
export function joinTurns(messages: readonly Msg[]): readonly Msg[] {
  const turns: Msg[] = [];
  for (const message of messages.filter(isSent)) {
    const last = turns.at(-1);
    if (last?.role === message.role && hasNoCalls(last) && hasNoCalls(message))
      turns.splice(-1, 1, joinPair(last, message));
    else {
      if (last && hasToolResults(last) && message.role === 'user') turns.push(insertedReply);
      turns.push(message);
    }
  }
  return turns;
}

function joinPair(message: Msg, next: Msg): Msg {
  return { ...message, content: [...message.content, ...next.content] };
}

const insertedReply = messageOf('assistant', 'I have the results.');
const goOn = messageOf('user', 'Continue.');

function messageOf(role: Msg['role'], text: string): Msg {
  return { id: text, role, content: [{ type: 'text', text }], createdAt: '' };
}

function isSent({ role, content }: Msg): boolean {
  return role !== 'assistant' || content.some(({ type }) => type !== 'thinking');
}

function hasNoCalls({ content }: Msg): boolean {
  return !content.some(({ type }) => type === 'tool_use' || type === 'tool_result');
}
