import { agentEndpoint, useAgentChat, type AgentUIMessage } from '@isoloop/web-worker/react';
import { useState } from 'react';
import type { Assistant } from './agent.ts';

const worker = new Worker(new URL('./agent.ts', import.meta.url), { type: 'module' });
const token: string = (localStorage['token'] ||= prompt('Your token') ?? '');
const endpoint = agentEndpoint('/api/chat', { headers: { authorization: `Bearer ${token}` } });
const options = { token };

/** One conversation. Each question is answered where the reader chooses. */
export function Chat() {
  const [place, setPlace] = useState<'tab' | 'edge'>('tab');
  return (
    <main>
      <label>
        Answer in{' '}
        <select value={place} onChange={({ target }) => setPlace(target.value as typeof place)}>
          <option value="tab">this tab</option>
          <option value="edge">the edge</option>
        </select>
      </label>
      <Conversation key={place} place={place} />
    </main>
  );
}

function Conversation({ place }: { readonly place: 'tab' | 'edge' }) {
  const [text, setText] = useState('');
  const source = place === 'tab' ? worker : endpoint;
  const chat = useAgentChat<Assistant>(source, { sessionId: 'first', options });
  const { messages, sendMessage, stop, isBusy, status, error } = chat;
  return (
    <>
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
        <button disabled={isBusy || status === 'loading' || !text.trim()}>Send</button>
        <button type="button" disabled={!isBusy} onClick={() => stop()}>
          Stop
        </button>
      </form>
    </>
  );
}

function Part({ part }: { readonly part: AgentUIMessage<Assistant>['parts'][number] }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type !== 'tool-time_in') return null;
  if (part.state !== 'output-available') return <p className="tool">Looking at the clock…</p>;
  return <p className="tool">{`${part.output.zone}: ${part.output.time}`}</p>;
}
