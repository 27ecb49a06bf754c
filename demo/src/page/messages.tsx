import { isToolUIPart, type AgentApproval, type UIMessage } from '@isoloop/web-worker/react';
import { useEffect, useRef, type ReactNode } from 'react';
import { languageOf } from '../offline/language.ts';
import { Examples } from './examples.tsx';
import { isVisible, withCallsOnce } from './message-parts.ts';
import type { Home } from './settings.ts';
import { ToolCard } from './tool-card.tsx';

export interface MessagesProps {
  readonly home: Home;
  readonly messages: readonly UIMessage[];
  readonly busy: boolean;
  readonly waiting: boolean;
  readonly approvals: readonly AgentApproval[];
  readonly onExample: (text: string) => void;
  /** Asks for another answer. Absent if there is no answer, or if the last answer failed. */
  readonly onAgain: (() => void) | undefined;
  readonly children: ReactNode;
}

export function Messages({
  home,
  messages: given,
  busy,
  waiting,
  approvals,
  onExample,
  onAgain,
  children,
}: MessagesProps) {
  const region = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const messages = withCallsOnce(given);
  const last = messages.at(-1);
  useEffect(() => {
    const list = region.current;
    // Does not scroll while the user reads earlier messages. A new question starts the scrolling
    // again.
    if (waiting) following.current = true;
    if (list && last && following.current) list.scrollTop = list.scrollHeight;
  });
  const isShown = (message: UIMessage): boolean => isVisible(message) || (busy && message === last);
  // The pressed button disappears. The focus moves to the list, so that keyboard users keep their
  // place.
  const leaving =
    <Args extends readonly unknown[]>(act: (...args: Args) => void) =>
    (...args: Args): void => {
      act(...args);
      region.current?.focus();
    };

  return (
    <div
      ref={region}
      className="messages"
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label="Messages"
      aria-busy={busy}
      onScroll={({ currentTarget: list }) => {
        following.current = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
      }}
    >
      {messages.length === 0 && <Examples home={home} onExample={leaving(onExample)} />}
      {messages.filter(isShown).map((message) => (
        <article
          key={message.id}
          className={`message ${message.role}`}
          aria-label={message.role === 'user' ? 'You' : 'Assistant'}
        >
          {message.parts.map((part, index) => {
            if (part.type === 'text') return <Text key={index} text={part.text} />;
            if (isToolUIPart(part)) {
              const approval = approvals.find(({ id }) => id === part.toolCallId);
              return (
                <ToolCard
                  key={part.toolCallId}
                  part={part}
                  onAllow={approval && leaving(() => void approval.approve())}
                  onDeny={approval && leaving(() => void approval.deny('the user said no'))}
                  onEdit={approval && leaving((input: unknown) => void approval.edit(input))}
                />
              );
            }
            if (part.type !== 'reasoning' || !part.text) return null;
            return (
              <details key={index} className="thinking">
                <summary>Thinking</summary>
                <Text text={part.text} />
              </details>
            );
          })}
          {busy && message === last && message.role === 'assistant' && (
            <span className="writing" aria-hidden="true" />
          )}
        </article>
      ))}
      {waiting && last?.role === 'user' && (
        <article className="message assistant" aria-hidden="true">
          <span className="writing" />
        </article>
      )}
      {onAgain && !busy && last?.role === 'assistant' && (
        <button type="button" className="again" onClick={leaving(onAgain)}>
          Answer again
        </button>
      )}
      {children}
    </div>
  );
}

function Text({ text }: { readonly text: string }) {
  const language = languageOf(text);
  // Fonts and screen readers treat Han characters differently in Chinese, Japanese and Korean, so
  // these texts need `lang`. All other texts may be in any language.
  return <p lang={language === 'en' ? undefined : language}>{text}</p>;
}
