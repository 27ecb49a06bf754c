import { useAgentChat, type AgentUIMessage } from '@isoloop/web-worker/react';
import { useState } from 'react';
import type { Assistant } from './agent.ts';

const worker = new Worker(new URL('./agent.ts', import.meta.url), { type: 'module' });

export function Chat() {
  const [text, setText] = useState('');
  const { messages, sendMessage, stop, isBusy, status, error } = useAgentChat<Assistant>(worker, {
    sessionId: 'first',
  });
  return (
    <main>
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
    </main>
  );
}

function Part({ part }: { readonly part: AgentUIMessage<Assistant>['parts'][number] }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type !== 'tool-time_in') return null;
  if (part.state !== 'output-available') return <p className="tool">Looking at the clock…</p>;
  return <p className="tool">{`${part.output.zone}: ${part.output.time}`}</p>;
}
