import { isToolUIPart, type AgentApproval, type UIMessage } from '@isoloop/web-worker/react';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { languageOf } from '../offline/language.ts';
import { Examples } from './examples.tsx';
import { MarkdownText } from './markdown-text.tsx';
import { EditMessage, MessageActions } from './message-actions.tsx';
import { isVisible, textOfMessage, withCallsOnce } from './message-parts.ts';
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
  /** Replaces a question and removes all that followed it. */
  readonly onEdit: ((messageId: string, text: string) => void) | undefined;
  /** What happened to answers during this visit, by the ids of their messages. */
  readonly marks: Readonly<Record<string, string>>;
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
  onEdit,
  marks,
  children,
}: MessagesProps) {
  const region = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const [isAway, setIsAway] = useState(false);
  const [edited, setEdited] = useState<string>();
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
  const jump = (): void => {
    region.current?.scrollTo({ top: region.current.scrollHeight });
    region.current?.focus();
  };
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
        setIsAway(!following.current);
      }}
    >
      {messages.length === 0 && <Examples home={home} onExample={leaving(onExample)} />}
      {messages.filter(isShown).map((message) => (
        <div key={message.id} className={`row ${message.role}`}>
          <article
            className={`message ${message.role}`}
            aria-label={message.role === 'user' ? 'You' : 'Assistant'}
          >
            {message.id === edited && (
              <EditMessage
                text={textOfMessage(message)}
                onCancel={() => setEdited(undefined)}
                onSend={(text) => {
                  setEdited(undefined);
                  onEdit?.(message.id, text);
                }}
              />
            )}
            {message.parts.map((part, index) => {
              if (message.id === edited) return null;
              if (part.type === 'text')
                return <Text key={index} text={part.text} isMarkdown={message.role !== 'user'} />;
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
              if (part.type === 'file')
                return <FileChip key={index} name={part.filename} url={part.url} />;
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
          {marks[message.id] && <p className="mark">{marks[message.id]}</p>}
          {!busy && message.id !== edited && textOfMessage(message) && (
            <MessageActions
              text={textOfMessage(message)}
              onEdit={message.role === 'user' && onEdit ? () => setEdited(message.id) : undefined}
            />
          )}
        </div>
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
      {isAway && (
        <button type="button" className="latest" onClick={jump}>
          Jump to latest
        </button>
      )}
    </div>
  );
}

interface FileChipProps {
  readonly name: string | undefined;
  readonly url: string;
}

function FileChip({ name, url }: FileChipProps) {
  const label = name ?? 'File';
  if (url.startsWith('data:image/')) return <img className="attached" src={url} alt={label} />;
  return <p className="mark">{label}</p>;
}

interface TextProps {
  readonly text: string;
  readonly isMarkdown?: boolean;
}

function Text({ text, isMarkdown = false }: TextProps) {
  const language = languageOf(text);
  // Fonts and screen readers treat Han characters differently in Chinese, Japanese and Korean, so
  // these texts need `lang`. All other texts may be in any language.
  const lang = language === 'en' ? undefined : language;
  if (!isMarkdown)
    return (
      <p lang={lang} dir="auto">
        {text}
      </p>
    );
  return (
    <div lang={lang} dir="auto" className="markdown">
      <MarkdownText text={text} />
    </div>
  );
}
