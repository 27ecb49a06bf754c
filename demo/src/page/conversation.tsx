import { useAgentChat, useAgentEvents, type UIMessage } from '@isoloop/web-worker/react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { agentSource } from './agent-source.ts';
import { Composer } from './composer.tsx';
import { Conversations } from './conversations.tsx';
import type { Draft } from './draft.ts';
import { ErrorNotice } from './notices.tsx';
import { Messages } from './messages.tsx';
import { textOfMessage, themeResults } from './message-parts.ts';
import type { Home, ModelChoice } from './settings.ts';
import type { Theme } from './theme.ts';
import { Timeline } from './timeline.tsx';
import { SessionLog } from './session-log.tsx';
import { Stage } from './stage.tsx';
import { killMark, withEnds, type TimelineItem } from './timeline-entry.ts';
import type { AgentWorker } from './use-agent-worker.ts';
import { useFirstToken } from './use-first-token.ts';
import { useSessionLog } from './use-session-log.ts';
import { TokenGauge } from './token-gauge.tsx';

export interface ConversationProps {
  readonly home: Home;
  readonly sessionId: string;
  readonly model: ModelChoice;
  readonly draft: Draft;
  readonly agentWorker: AgentWorker;
  readonly onTheme: (theme: Theme) => void;
  readonly onModel: (model: ModelChoice) => void;
  /** Shows another conversation. Without an id, begins a new one. */
  readonly onOpen: (sessionId?: string) => void;
  /** Shows two tabs side by side. Absent in one of these tabs. */
  readonly onTabs: (() => void) | undefined;
}

const views = { chat: 'Chat', timeline: 'Timeline', log: 'Log' } as const;

export function Conversation(props: ConversationProps) {
  const { home, sessionId, model, draft, agentWorker, onTheme, onModel, onOpen, onTabs } = props;
  const { worker, kills, kill } = agentWorker;
  const [isListing, setIsListing] = useState(false);
  const [view, setView] = useState<keyof typeof views>('chat');
  const [earlier, setEarlier] = useState<readonly TimelineItem[]>([]);
  const chat = useAgentChat(agentSource({ home, model, worker }), {
    sessionId,
    throttle: 40,
    listSessions: true,
    ...(home === 'worker' && { options: { ...model } }),
  });
  const { status, error, isBusy, approvals, sendMessage, regenerate, stop } = chat;
  const isLoading = status === 'loading';
  const messages = useLoaded(chat.messages, isLoading);
  const recent = useAgentEvents(chat);
  const events = withEnds(onceEach([...earlier, ...recent]), status === 'ready');
  const log = useSessionLog(sessionId, `${kills}:${events.length}:${status}`);
  const isInTab = home === 'worker';
  const lastAnswer = messages.findLast(({ role }) => role === 'assistant')?.id;
  const [marks, mark] = useMarks();
  useEffect(() => {
    if (status === 'continuing' && lastAnswer) mark(lastAnswer, 'Continued from the log');
  }, [status, lastAnswer, mark]);
  const onStop = useCallback(() => {
    if (lastAnswer) mark(lastAnswer, 'Stopped');
    void stop();
  }, [lastAnswer, mark, stop]);
  const firstTokenMs = useFirstToken(status);
  const onKill = (): void => {
    setEarlier([...earlier, ...recent, killMark([...earlier, ...recent].at(-1), Date.now())]);
    kill();
  };
  useThemeTool(messages, isLoading, onTheme);

  const send = (text: string, files: readonly File[] = []): void =>
    void sendMessage(text ? { text, files } : { files });
  const retry = (): void => void chat.retry();
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && isBusy && !event.isComposing) onStop();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [isBusy, onStop]);

  if (isLoading && !messages.length)
    return (
      <main className="loading" aria-busy="true">
        <p>Loading the conversation …</p>
      </main>
    );
  const notice = error && <ErrorNotice error={error} onRetry={retry} />;
  if (notice && messages.length === 0) return <main className="loading">{notice}</main>;
  return (
    <>
      <nav className="views" aria-label="View">
        {viewsAt(home).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={view === name}
            onClick={() => setView(name)}
          >
            {views[name]}
          </button>
        ))}
      </nav>
      <main className={`columns show-${view}`}>
        <section className="chat" aria-label="Conversation">
          <Stage
            home={home}
            model={model}
            kills={kills}
            onKill={isInTab ? onKill : undefined}
            onTabs={isInTab ? onTabs : undefined}
            onModel={onModel}
            onConversations={() => setIsListing(true)}
          />
          <Messages
            home={home}
            messages={messages}
            busy={isBusy}
            waiting={status === 'submitted'}
            approvals={approvals}
            onExample={send}
            onAgain={error ? undefined : () => void regenerate()}
            onEdit={(messageId, text) => void sendMessage({ text, messageId })}
            marks={marks}
          >
            {notice}
          </Messages>
          <Composer
            busy={isBusy}
            draft={draft}
            onSend={send}
            isReader={model.kind !== 'offline'}
            onStop={onStop}
          >
            <TokenGauge messages={messages} />
          </Composer>
        </section>
        <div className="side">
          <Timeline events={events} />
          {isInTab && <SessionLog log={log} kills={kills} firstTokenMs={firstTokenMs} />}
        </div>
      </main>
      {isListing && (
        <Conversations
          sessions={chat.sessions}
          onOpen={onOpen}
          onClose={() => setIsListing(false)}
        />
      )}
      <Announcement
        answer={messages.findLast(({ role }) => role === 'assistant')}
        isBusy={isBusy}
      />
    </>
  );
}

function viewsAt(home: Home): readonly (keyof typeof views)[] {
  return home === 'worker' ? ['chat', 'timeline', 'log'] : ['chat', 'timeline'];
}

/** What happened to answers during this visit, by the ids of their messages. */
function useMarks(): readonly [
  Readonly<Record<string, string>>,
  (messageId: string, mark: string) => void,
] {
  const [marks, setMarks] = useState<Readonly<Record<string, string>>>({});
  const mark = useCallback((messageId: string, text: string) => {
    setMarks((earlier) => ({ ...earlier, [messageId]: text }));
  }, []);
  return [marks, mark];
}

/** Keeps the messages of a killed worker until the next worker has loaded the conversation. */
function useLoaded(messages: readonly UIMessage[], isLoading: boolean): readonly UIMessage[] {
  const [loaded, setLoaded] = useState(messages);
  if (!isLoading && loaded !== messages) setLoaded(messages);
  return isLoading ? loaded : messages;
}

/** A new worker tells some events of the run that it continues once more. */
function onceEach(events: readonly TimelineItem[]): readonly TimelineItem[] {
  return [...new Map(events.map((event) => [`${event.runId}:${event.seq}`, event])).values()];
}

/** Tells screen readers each answer of this visit when it has ended. */
function Announcement({
  answer,
  isBusy,
}: {
  readonly answer: UIMessage | undefined;
  readonly isBusy: boolean;
}) {
  const [text, setText] = useState('');
  const wasBusy = useRef(isBusy);
  useEffect(() => {
    if (wasBusy.current && !isBusy && answer) setText(textOfMessage(answer));
    wasBusy.current = isBusy;
  }, [answer, isBusy]);
  return (
    <div className="visually-hidden" aria-live="polite">
      {text}
    </div>
  );
}

/**
 * Applies the themes that the theme tool chooses during this visit. Ignores earlier choices, which
 * are in the loaded history.
 */
function useThemeTool(
  messages: readonly UIMessage[],
  isLoading: boolean,
  onTheme: (theme: Theme) => void,
): void {
  const seen = useRef<Set<string>>(undefined);
  useEffect(() => {
    if (isLoading) return;
    const results = themeResults(messages);
    seen.current ??= new Set(results.map(({ id }) => id));
    for (const { id, theme } of results) {
      if (seen.current.has(id)) continue;
      seen.current.add(id);
      onTheme(theme);
    }
  }, [messages, isLoading, onTheme]);
}
