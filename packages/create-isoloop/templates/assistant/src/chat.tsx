import { agentWorker } from '@isoloop/web-worker';
import { useAgentChat } from '@isoloop/react';
import { ConversationList, useSessionId } from './conversation-list.tsx';
import { Conversation } from './conversation.tsx';
import type { Assistant } from './worker.ts';

const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
const assistant = agentWorker<Assistant>(worker);

export function Chat() {
  const sessionId = useSessionId();
  const chat = useAgentChat(assistant, { sessionId, listSessions: true });
  return (
    <main>
      <ConversationList
        list={chat.sessions.list}
        current={sessionId}
        onDelete={chat.sessions.delete}
      />
      <Conversation chat={chat} />
    </main>
  );
}
