import { agentEndpoint, useAgentChat, type AgentUIMessage } from '@isoloop/web-worker/react';
import { useState, useSyncExternalStore } from 'react';
import type { Assistant } from './agent.ts';

const worker = new Worker(new URL('./agent.ts', import.meta.url), { type: 'module' });
const token: string = (localStorage['token'] ||= prompt('Your token') ?? '');
const endpoint = agentEndpoint('/api/chat', { headers: { authorization: `Bearer ${token}` } });
const options = { token };

type Place = 'tab' | 'edge';

/** One conversation. Each question is answered where the reader chooses. */
export function Chat() {
  const [place, move] = usePlace();
  return (
    <main>
      <Conversation key={place} place={place} onMove={move} />
    </main>
  );
}

interface ConversationProps {
  readonly place: Place;
  readonly onMove: (place: Place) => void;
}

function Conversation({ place, onMove }: ConversationProps) {
  const [text, setText] = useState('');
  const source = place === 'tab' ? worker : endpoint;
  const chat = useAgentChat<Assistant>(source, { sessionId: 'first', options });
  const { messages, sendMessage, stop, isBusy, status, error } = chat;
  const isLoading = status === 'loading';
  return (
    <>
      <label>
        Answer in{' '}
        <select
          value={place}
          // Both places would answer if the conversation moved during an answer.
          disabled={isBusy || isLoading}
          onChange={({ target }) => onMove(target.value as Place)}
        >
          <option value="tab">this tab</option>
          <option value="edge">the edge</option>
        </select>{' '}
        {isBusy && <small>You can move when the answer has ended.</small>}
      </label>
      {messages.map(({ id, role, parts }) => (
        <section key={id} className={role}>
          {parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText('');
        }}
      >
        <input
          aria-label="Your message"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button disabled={isBusy || isLoading || !text.trim()}>Send</button>
        <button type="button" disabled={!isBusy} onClick={() => stop()}>
          Stop
        </button>
      </form>
    </>
  );
}

/** All tabs use the same place, because they show the same conversation. */
function usePlace(): readonly [Place, (place: Place) => void] {
  const place = useSyncExternalStore(watchStorage, () => localStorage['place'] ?? 'tab');
  const move = (next: Place): void => {
    localStorage['place'] = next;
    // The browser tells only the other tabs.
    dispatchEvent(new Event('storage'));
  };
  return [place, move];
}

function watchStorage(listener: () => void): () => void {
  addEventListener('storage', listener);
  return () => removeEventListener('storage', listener);
}

function Part({ part }: { readonly part: AgentUIMessage<Assistant>['parts'][number] }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type !== 'tool-time_in') return null;
  if (part.state !== 'output-available') return <p className="tool">Looking at the clock…</p>;
  return <p className="tool">{`${part.output.zone}: ${part.output.time}`}</p>;
}
