import { SessionMemory } from '@isoloop/core';
import { toUiMessages, typedMessages } from '@isoloop/core/ai-sdk';
import { IndexedDbStore } from '@isoloop/web-worker';
import type { UIMessage } from '@isoloop/web-worker/react';
import { useEffect, useState } from 'react';
import { contextWindow } from '../context-window.ts';
import { Composer } from './composer.tsx';
import type { Draft } from './draft.ts';
import { Messages } from './messages.tsx';
import { KeyNotice } from './notices.tsx';
import { Timeline } from './timeline.tsx';
import { TokenGauge } from './token-gauge.tsx';

const none: ReadonlySet<string> = new Set();

export interface LockedConversationProps {
  readonly sessionId: string;
  /** Name of the model whose key is gone. */
  readonly model: string;
  readonly draft: Draft;
  /** Opens the dialog that chooses the model. */
  readonly onModel: () => void;
}

/**
 * Shows the stored conversation until the user has entered the model's key again. It starts no
 * agent, so an answer that a reload cut off waits in the log, and no other model continues it.
 */
export function LockedConversation({ sessionId, model, draft, onModel }: LockedConversationProps) {
  const [messages, setMessages] = useState<readonly UIMessage[]>();
  useEffect(() => {
    let current = true;
    const show = (stored: readonly UIMessage[]): void => void (current && setMessages(stored));
    // With a key, the conversation itself reports an error of the storage.
    void storedMessages(sessionId).then(show, () => show([]));
    return () => {
      current = false;
    };
  }, [sessionId]);

  if (!messages) return <main className="loading" aria-busy="true" />;
  return (
    <main className="columns show-chat">
      <section className="chat" aria-label="Conversation">
        <Messages
          home="worker"
          messages={messages}
          busy={false}
          waiting={false}
          approvals={[]}
          onExample={onModel}
          onAct={undefined}
          onAgain={undefined}
          onEdit={undefined}
          continued={none}
          logged={[]}
          versions={[]}
          onVersion={() => {}}
        >
          <KeyNotice model={model} onModel={onModel} />
        </Messages>
        <Composer busy={false} draft={draft} onSend={undefined} isReader onStop={() => {}}>
          <TokenGauge messages={messages} window={contextWindow} />
        </Composer>
      </section>
      <Timeline events={[]} />
    </main>
  );
}

/** Reads the conversation that the agent in this tab's worker has stored. */
async function storedMessages(sessionId: string): Promise<readonly UIMessage[]> {
  const memory = new SessionMemory(new IndexedDbStore(), sessionId);
  const { messages, calls } = await memory.view();
  const pending = [...calls.values()].flatMap((call) => call.pending ?? []);
  return typedMessages<UIMessage>(toUiMessages(messages, { pending }));
}
