import { agentWorker } from '@isoloop/web-worker';
import {
  agentEndpoint,
  useAgentChat,
  type AgentChatHelpers,
  type AgentSource,
} from '@isoloop/react';
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import { StrictMode, useEffect } from 'react';
import { createRoot } from 'react-dom/client';

declare global {
  interface Window {
    /** Latest return value of `useAgentChat`. */
    agentChat: AgentChatHelpers;
    /** All values of `status`, each time it changed. */
    statuses: string[];
    /** Input of each call of a tool in a worker, in all tabs since this page was loaded. */
    toolRuns: unknown[];
    /** Ends the worker of this page, as a crash does. */
    crash(): void;
  }
}

window.statuses = [];
const query = new URLSearchParams(location.search);
const source = sourceAt(query.get('at')!);
window.crash = () =>
  'place' in source && source.place instanceof Worker && source.place.terminate();
window.toolRuns = [];
new BroadcastChannel('tool-runs').addEventListener('message', ({ data }) =>
  window.toolRuns.push(data),
);

function sourceAt(at: string): AgentSource {
  if (at === 'worker')
    return agentWorker(new Worker(new URL('./tab-worker.ts', import.meta.url), { type: 'module' }));
  if (at === 'shared')
    return agentWorker(
      new SharedWorker(new URL('./tab-worker.ts', import.meta.url), { type: 'module' }),
    );
  return agentEndpoint(`${at}/api/chat`);
}

function Chat() {
  const chat = useAgentChat(source, { sessionId: query.get('id')!, listSessions: true });
  useEffect(() => {
    window.agentChat = chat;
    if (window.statuses.at(-1) !== chat.status) window.statuses.push(chat.status);
  });
  return (
    <>
      <output>{chat.status}</output>
      <p role="alert">{chat.error?.message}</p>
      <ol>
        {chat.messages.map((message) => (
          <li key={message.id}>
            {[message.role, ...message.parts.map(told).filter(Boolean)].join(' | ')}
          </li>
        ))}
      </ol>
    </>
  );
}

function told(part: UIMessage['parts'][number]): string {
  if (part.type === 'text') return part.text.trim();
  if (!isToolUIPart(part)) return '';
  const said = part.state === 'output-denied' ? part.approval.reason : part.output;
  return [getToolName(part), part.state, said].filter(Boolean).join(' ');
}

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <Chat />
  </StrictMode>,
);
