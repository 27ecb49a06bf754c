import { Chat, useChat } from '@ai-sdk/react';
import { hasApprovalResponse } from '@isoloop/core/ai-sdk';
import type { UIMessage } from 'ai';
import { useCallback, useEffect, useRef, useState } from 'react';
import { Composer } from './composer.tsx';
import type { Draft } from './draft.ts';
import { ErrorNotice } from './error-notice.tsx';
import { Messages } from './messages.tsx';
import { textOfMessage, themeResults } from './message-parts.ts';
import type { Home } from './settings.ts';
import type { Theme } from './theme.ts';
import { Timeline } from './timeline.tsx';
import { stopped, timelineEvent, withEvent, type TimelineEvent } from './timeline-entry.ts';
import { TokenGauge } from './token-gauge.tsx';
import type { OpenConnection } from './use-connection.ts';
import { newReading, replacingAnswer, resumeRun, useOtherTabs } from './use-other-tabs.ts';

export interface ConversationProps {
  readonly home: Home;
  readonly connection: OpenConnection;
  readonly draft: Draft;
  readonly onTheme: (theme: Theme) => void;
}

export function Conversation({ home, connection, draft, onTheme }: ConversationProps) {
  const [events, setEvents] = useState<readonly TimelineEvent[]>([]);
  const [view, setView] = useState<'chat' | 'timeline'>('chat');
  const [announcement, setAnnouncement] = useState('');
  const [reading] = useState(newReading);
  // This component creates its own `Chat`, because `useChat` would stop a chat of its own when the
  // component unmounts. In a worker, that would end the run for all tabs. The state of this `Chat`
  // is also current between two renders.
  const [chat] = useState(() => {
    const made: Chat<UIMessage> = new Chat<UIMessage>({
      id: connection.sessionId,
      transport: replacingAnswer(connection.transport, () => made),
      messages: connection.messages,
      sendAutomaticallyWhen: hasApprovalResponse,
      onData: (part) => {
        const event = timelineEvent.safeParse(part.data);
        if (!event.success) return;
        reading.runs.add(event.data.runId);
        setEvents((before) => withEvent(before, event.data));
      },
      onFinish: ({ message, isAbort }) => {
        reading.wasStopped = isAbort;
        setAnnouncement(textOfMessage(message));
        if (isAbort) setEvents(stopped);
      },
    });
    return made;
  });
  // After a reload, the last answer may be unfinished or still running.
  useEffect(() => void resumeRun(chat, reading), [chat, reading]);
  useEffect(() => {
    // If the run continues without this page, `stop()` only stops reading.
    return () => void (connection.outlivesPage && chat.stop());
  }, [connection, chat]);
  const {
    messages,
    status,
    error,
    sendMessage,
    regenerate,
    addToolApprovalResponse,
    stop: leave,
  } = useChat({
    chat,
    experimental_throttle: 40,
  });
  const isFollowing = useOtherTabs({ connection, chat, reading });
  const busy = status === 'submitted' || status === 'streaming' || isFollowing;
  useThemeTool(messages, connection.messages, onTheme);

  const send = useCallback(
    (text: string) => void reading.resumed.then(() => sendMessage({ text })),
    [reading, sendMessage],
  );
  const decide = useCallback(
    (id: string, approved: boolean) => {
      const reason = approved ? {} : { reason: 'the user said no' };
      void reading.resumed.then(() => addToolApprovalResponse({ id, approved, ...reason }));
    },
    [reading, addToolApprovalResponse],
  );
  const stop = useCallback(() => {
    connection.stop();
    void leave();
  }, [connection, leave]);
  const retry = (): void => {
    const asked = messages.findLast(({ role }) => role === 'user');
    // Sends the message again with the same id. `regenerate` would fail if the message had never
    // arrived.
    if (asked)
      void reading.resumed.then(() =>
        sendMessage({ text: textOfMessage(asked), messageId: asked.id }),
      );
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && busy && !event.isComposing) stop();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [busy, stop]);

  return (
    <>
      <div className="views" role="group" aria-label="View">
        {(['chat', 'timeline'] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={view === name}
            onClick={() => setView(name)}
          >
            {name === 'chat' ? 'Chat' : 'Timeline'}
          </button>
        ))}
      </div>
      <main className={`columns show-${view}`}>
        <section className="chat" aria-label="Conversation">
          <Messages
            home={home}
            messages={messages}
            busy={busy}
            waiting={status === 'submitted'}
            onExample={send}
            onAgain={error ? undefined : () => void reading.resumed.then(() => regenerate())}
            onDecide={decide}
          >
            {error && <ErrorNotice error={error} onRetry={retry} />}
          </Messages>
          <Composer busy={busy} draft={draft} onSend={send} onStop={stop}>
            <TokenGauge messages={messages} />
          </Composer>
        </section>
        <Timeline events={events} />
      </main>
      <div className="visually-hidden" aria-live="polite">
        {announcement}
      </div>
    </>
  );
}

/**
 * Applies the themes that the theme tool chooses during this visit. Ignores earlier choices, which
 * are in the loaded history.
 */
function useThemeTool(
  messages: OpenConnection['messages'],
  history: OpenConnection['messages'],
  onTheme: (theme: Theme) => void,
): void {
  const seen = useRef<Set<string>>(null);
  seen.current ??= new Set(themeResults(history).map(({ id }) => id));
  useEffect(() => {
    for (const { id, theme } of themeResults(messages)) {
      if (seen.current!.has(id)) continue;
      seen.current!.add(id);
      onTheme(theme);
    }
  }, [messages, onTheme]);
}
