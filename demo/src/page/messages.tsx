import type { AgentApproval, UIMessage } from '@isoloop/react';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import type { Versions } from './branches.ts';
import { Examples, type ExampleAct } from './examples.tsx';
import { isVisible, withCallsOnce } from './message-parts.ts';
import { loadMarkdown, MessageRow, type Leaving } from './message-row.tsx';
import type { Home } from './settings.ts';
import type { LoggedAnswer } from './use-session-log.ts';

export interface MessagesProps {
  readonly home: Home;
  readonly messages: readonly UIMessage[];
  readonly busy: boolean;
  /** Whether the conversation is about to be replaced. */
  readonly isMoving?: boolean;
  readonly waiting: boolean;
  readonly approvals: readonly AgentApproval[];
  readonly onExample: (text: string) => void;
  /** Absent while nothing can answer. */
  readonly onAct: ((act: ExampleAct) => void) | undefined;
  /** Asks for another answer. Absent if there is no answer, or if the last answer failed. */
  readonly onAgain: (() => void) | undefined;
  /** Replaces a question and removes all that followed it. */
  readonly onEdit: ((messageId: string, text: string) => void) | undefined;
  /** Ids of the answers that were continued from the log during this visit. */
  readonly continued: ReadonlySet<string>;
  /** What the log says about the answers, one for each question. */
  readonly logged: readonly LoggedAnswer[];
  readonly versions: readonly Versions[];
  /** Shows the conversation with another version of a message. */
  readonly onVersion: (sessionId: string) => void;
  readonly children: ReactNode;
}

export function Messages({
  home,
  messages: given,
  busy,
  isMoving = false,
  waiting,
  approvals,
  onExample,
  onAct,
  onAgain,
  onEdit,
  continued,
  logged,
  versions,
  onVersion,
  children,
}: MessagesProps) {
  const region = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const [isAway, setIsAway] = useState(false);
  const messages = withCallsOnce(given);
  const last = messages.at(-1);
  useEffect(() => {
    const list = region.current;
    // Does not scroll while the user reads earlier messages. A new question starts the scrolling
    // again.
    if (waiting) following.current = true;
    if (list && last && following.current) list.scrollTop = list.scrollHeight;
  });
  const isEmpty = messages.length === 0;
  useEffect(() => {
    const list = region.current;
    if (!list || isEmpty) return;
    // A growing message field, the keyboard of a phone and the inspector take room from the list.
    const observer = new ResizeObserver(() => {
      if (following.current) list.scrollTop = list.scrollHeight;
    });
    observer.observe(list);
    return () => observer.disconnect();
  }, [isEmpty]);
  // The first answer needs it soon, and there may be no network then.
  useEffect(() => void loadMarkdown().catch(() => {}), []);
  const isShown = (message: UIMessage): boolean => isVisible(message) || (busy && message === last);
  const jump = (): void => {
    region.current?.scrollTo({ top: region.current.scrollHeight });
    region.current?.focus();
  };
  // The pressed button disappears. The focus moves to the list, so that keyboard users keep their
  // place.
  const leaving: Leaving =
    (act) =>
    (...args) => {
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
      aria-busy={busy || isMoving}
      onScroll={({ currentTarget: list }) => {
        following.current = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
        setIsAway(!following.current);
      }}
    >
      {isEmpty && <Examples home={home} onExample={leaving(onExample)} onAct={onAct} />}
      {messages.map((message, at) => {
        if (!isShown(message)) return null;
        const isWriting = busy && message === last;
        return (
          <MessageRow
            key={message.id}
            message={message}
            isBusy={busy || isMoving}
            isWriting={isWriting}
            isContinued={continued.has(message.id)}
            logged={isWriting ? undefined : endOf(messages, at, logged)}
            versions={versions.find((one) => one.at === at)}
            approvals={approvals}
            leaving={leaving}
            onEdit={onEdit}
            onVersion={onVersion}
          />
        );
      })}
      {busy && last?.role === 'user' && (
        <article className="message assistant" aria-hidden="true">
          <span className="writing" />
        </article>
      )}
      {onAgain && !busy && !approvals.length && last?.role === 'assistant' && (
        <button type="button" className="again" onClick={leaving(onAgain)}>
          Answer again
        </button>
      )}
      {children}
      {isAway && !isEmpty && (
        <button type="button" className="latest" onClick={jump}>
          Jump to latest
        </button>
      )}
    </div>
  );
}

/** Returns what the log says about an answer. Only its last message shows that. */
function endOf(
  messages: readonly UIMessage[],
  at: number,
  logged: readonly LoggedAnswer[],
): LoggedAnswer | undefined {
  const isEnd = messages[at]?.role === 'assistant' && messages[at + 1]?.role !== 'assistant';
  if (!isEnd) return undefined;
  const questions = messages.slice(0, at).filter(({ role }) => role === 'user').length;
  return logged[questions - 1];
}
