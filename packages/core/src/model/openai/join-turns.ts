import type { Msg } from '../../message/msg.ts';

/**
 * Joins adjacent messages of the user, and adjacent messages of the assistant. After an
 * interruption, a conversation may have two messages of the user, which some servers refuse for
 * ever. `messages`: fitted ones; drops replies that have nothing to send.
 */
export function joinTurns(messages: readonly Msg[]): readonly Msg[] {
  const turns: Msg[] = [];
  for (const message of messages.filter(isSent)) {
    const last = turns.at(-1);
    if (last?.role === message.role && isPlain(last) && isPlain(message))
      turns[turns.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else turns.push(message);
  }
  return turns;
}

function isSent({ role, content }: Msg): boolean {
  return role !== 'assistant' || content.some(({ type }) => type !== 'thinking');
}

function isPlain({ content }: Msg): boolean {
  return !content.some(({ type }) => type === 'tool_use' || type === 'tool_result');
}
