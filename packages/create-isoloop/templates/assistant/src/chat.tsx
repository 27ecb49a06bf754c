import { useAgentChat } from '@isoloop/web-worker/react';
import type { Assistant } from './agent.ts';
import { Chats, useChatId } from './chats.tsx';
import { Conversation } from './conversation.tsx';

const worker = new Worker(new URL('./agent.ts', import.meta.url), { type: 'module' });

export function Chat() {
  const sessionId = useChatId();
  const chat = useAgentChat<Assistant>(worker, { sessionId, listSessions: true });
  return (
    <main>
      <Chats list={chat.sessions.list} current={sessionId} />
      <Conversation chat={chat} />
    </main>
  );
}
