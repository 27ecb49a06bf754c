import { useAgentChat, useAgentEvents, type UIMessage } from '@isoloop/web-worker/react';
import { useEffect, useRef, useState } from 'react';
import { agentSource } from './agent-source.ts';
import { Composer } from './composer.tsx';
import type { Draft } from './draft.ts';
import { ErrorNotice } from './notices.tsx';
import { Messages } from './messages.tsx';
import { textOfMessage, themeResults } from './message-parts.ts';
import type { Home, ModelChoice } from './settings.ts';
import type { Theme } from './theme.ts';
import { Timeline } from './timeline.tsx';
import { withEnds } from './timeline-entry.ts';
import { TokenGauge } from './token-gauge.tsx';

export interface ConversationProps {
  readonly home: Home;
  readonly sessionId: string;
  readonly model: ModelChoice;
  readonly draft: Draft;
  readonly onTheme: (theme: Theme) => void;
}

export function Conversation({ home, sessionId, model, draft, onTheme }: ConversationProps) {
  const [view, setView] = useState<'chat' | 'timeline'>('chat');
  const chat = useAgentChat(agentSource(home, model), {
    sessionId,
    throttle: 40,
    ...(home === 'worker' && { options: { ...model } }),
  });
  const { messages, status, error, isBusy, approvals, sendMessage, regenerate, stop } = chat;
  const events = useAgentEvents(chat);
  const isLoading = status === 'loading';
  useThemeTool(messages, isLoading, onTheme);

  const send = (text: string): void => void sendMessage({ text });
  const retry = (): void => void chat.retry();
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && isBusy && !event.isComposing) void stop();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [isBusy, stop]);

  if (isLoading)
    return (
      <main className="loading" aria-busy="true">
        <p>Loading the conversation …</p>
      </main>
    );
  const notice = error && <ErrorNotice error={error} onRetry={retry} />;
  if (notice && messages.length === 0) return <main className="loading">{notice}</main>;
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
            busy={isBusy}
            waiting={status === 'submitted'}
            approvals={approvals}
            onExample={send}
            onAgain={error ? undefined : () => void regenerate()}
          >
            {notice}
          </Messages>
          <Composer busy={isBusy} draft={draft} onSend={send} onStop={() => void stop()}>
            <TokenGauge messages={messages} />
          </Composer>
        </section>
        <Timeline events={withEnds(events, status === 'ready')} />
      </main>
      <Announcement
        answer={messages.findLast(({ role }) => role === 'assistant')}
        isBusy={isBusy}
      />
    </>
  );
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
