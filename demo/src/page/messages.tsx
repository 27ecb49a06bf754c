import type { UIMessage } from 'ai';
import { useEffect, useRef, type ReactNode } from 'react';
import { Examples } from './examples.tsx';
import { ToolCard } from './tool-card.tsx';

export interface MessagesProps {
  readonly messages: readonly UIMessage[];
  readonly busy: boolean;
  readonly waiting: boolean;
  readonly onExample: (text: string) => void;
  readonly children: ReactNode;
}

export function Messages({ messages, busy, waiting, onExample, children }: MessagesProps) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const list = end.current?.parentElement;
    // Somebody who scrolled up to read is left where they are.
    if (list && list.scrollHeight - list.scrollTop - list.clientHeight < 160) list.scrollTop = list.scrollHeight;
  }, [messages, waiting]);
  const last = messages.at(-1);

  return (
    <div className="messages" tabIndex={0} role="log" aria-live="off" aria-label="Messages" aria-busy={busy}>
      {messages.length === 0 && <Examples onExample={onExample} />}
      {messages.map((message) => (
        <article key={message.id} className={`message ${message.role}`} aria-label={message.role === 'user' ? 'You' : 'Assistant'}>
          {message.parts.map((part, index) => {
            if (part.type === 'text') return <p key={index}>{part.text}</p>;
            if (part.type === 'dynamic-tool') return <ToolCard key={part.toolCallId} part={part} />;
            if (part.type !== 'reasoning' || !part.text) return null;
            return (
              <details key={index} className="thinking">
                <summary>Thinking</summary>
                <p>{part.text}</p>
              </details>
            );
          })}
          {busy && message === last && message.role === 'assistant' && <span className="writing" aria-hidden="true" />}
        </article>
      ))}
      {waiting && last?.role === 'user' && (
        <article className="message assistant" aria-hidden="true">
          <span className="writing" />
        </article>
      )}
      {children}
      <div ref={end} />
    </div>
  );
}
