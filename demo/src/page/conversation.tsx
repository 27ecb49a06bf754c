import {
  useAgentChat,
  useAgentEvents,
  type AgentChatStatus,
  type AgentTimelineEvent,
  type UIMessage,
} from '@isoloop/react';
import { Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { contextWindow, offlineWindow } from '../context-window.ts';
import { agentSource } from './agent-source.ts';
import { fetchVersion, keepVersion, useVersions } from './branches.ts';
import { Composer } from './composer.tsx';
import { Conversations } from './conversations.tsx';
import type { Draft } from './draft.ts';
import type { ExampleAct } from './examples.tsx';
import { lazyPart, MissingPart } from './lazy-part.tsx';
import { OfflineNotice } from './offline-notice.tsx';
import { ErrorNotice } from './notices.tsx';
import { Messages } from './messages.tsx';
import { textOfMessage, themeResults } from './message-parts.ts';
import type { ObjectFormProps } from './object-form.tsx';
import { Queue } from './queue.tsx';
import type { Home, ModelChoice } from './settings.ts';
import type { Theme } from './theme.ts';
import { Timeline } from './timeline.tsx';
import { SessionLog } from './session-log.tsx';
import { Stage } from './stage.tsx';
import { killMark, withEnds, type TimelineItem } from './timeline-entry.ts';
import type { AgentWorker } from './use-agent-worker.ts';
import { useFirstToken } from './use-first-token.ts';
import { useKill } from './use-kill.ts';
import { answersIn, useSessionLog } from './use-session-log.ts';
import type { ShownMessages } from './shown-messages.ts';
import { useShownChat } from './use-shown-chat.ts';
import { TokenGauge } from './token-gauge.tsx';

export interface ConversationProps {
  readonly home: Home;
  readonly sessionId: string;
  readonly model: ModelChoice;
  readonly draft: Draft;
  readonly shown: ShownMessages;
  readonly agentWorker: AgentWorker;
  readonly onTheme: (theme: Theme) => void;
  readonly onModel: (model: ModelChoice) => void;
  /** Opens the dialog that chooses the model. */
  readonly onDialog: () => void;
  /** A question to ask as soon as the conversation is loaded. */
  readonly first: string | undefined;
  /** Called when the first question is sent. */
  readonly onFirst: () => void;
  /** Shows another conversation. Without an id, begins a new one. */
  readonly onOpen: (sessionId?: string, first?: string) => void;
  readonly onError: (error: Error) => void;
  /** Shows two tabs side by side. Absent in one of these tabs. */
  readonly onTabs?: (() => void) | undefined;
  /** Shows or hides the inspector. Absent in one of two tabs. */
  readonly onInspect?: (() => void) | undefined;
}

/** Asked after the diary is opened, so that its request is fitted. */
const diaryQuestion = 'What time is it in Tokyo, where I was on day 1?';

const ObjectForm = lazyPart<ObjectFormProps>(
  async () => (await import('./object-form.tsx')).ObjectForm,
  MissingPart,
);

const views = { chat: 'Chat', timeline: 'Timeline', log: 'Log' } as const;

export function Conversation(props: ConversationProps) {
  const { home, sessionId, model, draft, shown, agentWorker, first } = props;
  const { onTheme, onModel, onDialog, onFirst, onOpen, onTabs, onInspect } = props;
  const { worker } = agentWorker;
  const killing = useKill(home, sessionId, agentWorker);
  const kills = killing?.kills ?? 0;
  const [isListing, setIsListing] = useState(false);
  const [view, setView] = useState<keyof typeof views>('chat');
  const [earlier, setEarlier] = useState<readonly TimelineItem[]>([]);
  const chat = useAgentChat(agentSource({ home, model, worker }), {
    sessionId,
    throttleMs: 40,
    listSessions: true,
    initialMessages: shown.read(sessionId),
    onError: props.onError,
  });
  const { status, approvals, sendMessage, regenerate, stop } = chat;
  const { isLoading, messages, isBusy, error, retry, onFailure } = useShownChat(
    chat,
    agentWorker.restart,
  );
  useEffect(() => shown.write(sessionId, messages), [shown, sessionId, messages]);
  const recent = useAgentEvents(chat);
  const events = withEnds(onceEach([...earlier, ...recent]), status === 'ready');
  const log = useSessionLog(home, sessionId, `${kills}:${events.length}:${status}`);
  const isInTab = home === 'worker';
  const continued = useContinued(status, messages);
  const versions = useVersions(sessionId);
  const [isFilling, setIsFilling] = useState(false);
  const onStop = useCallback(() => void stop(), [stop]);
  const firstTokenMs = useFirstToken(status);
  const onKill = (): void => {
    const before = onceEach([...earlier, ...recent]);
    setEarlier([...before, killMark(home, before.at(-1), Date.now())]);
    killing?.kill();
  };
  useThemeTool(messages, isLoading, onTheme);

  const send = (text: string, files: readonly File[] = []): void =>
    void sendMessage(text ? { text, files } : { files });
  const replaceMessage = async (at: number, act: () => Promise<void>): Promise<void> => {
    // Without a copy, the message is replaced all the same.
    await keepVersion(home, sessionId, at).catch(() => {});
    await act();
  };
  const openVersion = async (id: string): Promise<void> => {
    if (await fetchVersion(home, id)) onOpen(id);
  };
  const onAct = async (act: ExampleAct): Promise<void> => {
    if (act === 'object') setIsFilling(true);
    else {
      const { storeDiary } = await import('./diary.ts');
      onOpen(await storeDiary(home), diaryQuestion);
    }
  };
  useEffect(() => {
    if (first === undefined || status !== 'ready') return;
    onFirst();
    void sendMessage({ text: first });
  }, [first, onFirst, status, sendMessage]);
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
  const notice = error && (
    <ErrorNotice error={error} address={addressOf(model)} onRetry={retry} onModel={onDialog} />
  );
  if (notice && messages.length === 0) return <main className="loading">{notice}</main>;
  return (
    <>
      <nav className="views" aria-label="View">
        {(Object.keys(views) as (keyof typeof views)[]).map((name) => (
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
            isBusy={isBusy}
            onKill={killing && onKill}
            onTabs={isInTab ? onTabs : undefined}
            onInspect={onInspect}
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
            onAct={(act) => void onAct(act).catch(onFailure)}
            onAgain={
              error ? undefined : () => void replaceMessage(messages.length - 1, () => regenerate())
            }
            onEdit={(messageId, text) => {
              const at = messages.findIndex(({ id }) => id === messageId);
              void replaceMessage(at, () => sendMessage({ text, messageId }));
            }}
            continued={continued}
            logged={answersIn(log.records)}
            versions={versions}
            onVersion={(id) => void openVersion(id)}
          >
            {notice || <OfflineNotice home={home} status={status} />}
          </Messages>
          <Queue queued={chat.queued} onWithdraw={chat.withdraw} />
          <Composer
            busy={isBusy}
            draft={draft}
            onSend={send}
            isReader={model.kind !== 'offline'}
            onStop={onStop}
          >
            <TokenGauge messages={messages} window={windowOf(model)} />
          </Composer>
        </section>
        <div className="side">
          <Timeline events={events} />
          <SessionLog
            home={home}
            log={log}
            kills={kills}
            firstTokenMs={firstTokenMs}
            tokens={tokensOfRun(events)}
          />
        </div>
      </main>
      {isListing && (
        <Conversations
          sessions={chat.sessions}
          onOpen={onOpen}
          onClose={() => setIsListing(false)}
        />
      )}
      {isFilling && (
        <Suspense>
          <ObjectForm worker={worker} model={model} onClose={() => setIsFilling(false)} />
        </Suspense>
      )}
      <Announcement
        answer={messages.findLast(({ role }) => role === 'assistant')}
        isBusy={isBusy}
      />
    </>
  );
}

function addressOf(model: ModelChoice): string | undefined {
  return model.kind === 'endpoint' ? model.baseURL : undefined;
}

function windowOf({ kind }: ModelChoice): number {
  return kind === 'offline' ? offlineWindow : contextWindow;
}

/** Returns the tokens of the last run that has ended. A killed run counts its tokens nowhere. */
function tokensOfRun(events: readonly TimelineItem[]): number | undefined {
  const end = events.findLast(({ type }) => type === 'run-end') as AgentTimelineEvent | undefined;
  const usage = end?.['usage'] as Readonly<Record<string, number>> | undefined;
  return usage && (usage['inputTokens'] ?? 0) + (usage['outputTokens'] ?? 0);
}

/** Returns the ids of the answers that were continued from the log during this visit. */
function useContinued(
  status: AgentChatStatus,
  messages: readonly UIMessage[],
): ReadonlySet<string> {
  const [continued, setContinued] = useState<ReadonlySet<string>>(new Set());
  const last = messages.at(-1);
  if (status === 'continuing' && last?.role === 'assistant' && !continued.has(last.id))
    setContinued(new Set([...continued, last.id]));
  return continued;
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
