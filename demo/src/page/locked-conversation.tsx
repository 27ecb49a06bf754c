import { SessionMemory } from '@isoloop/core';
import { toUiMessages, typedMessages } from '@isoloop/core/stream';
import { IndexedDbStore } from '@isoloop/web-worker';
import type { UIMessage } from '@isoloop/react';
import { useEffect, useState } from 'react';
import type { Draft } from './draft.ts';
import { KeyNotice } from './notices.tsx';
import { StillConversation } from './still-conversation.tsx';

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
    <StillConversation home="worker" messages={messages} draft={draft} onExample={onModel}>
      <KeyNotice model={model} onModel={onModel} />
    </StillConversation>
  );
}

/** Reads the conversation that the agent in this tab's worker has stored. */
async function storedMessages(sessionId: string): Promise<readonly UIMessage[]> {
  const memory = new SessionMemory(new IndexedDbStore(), sessionId);
  const { messages, calls } = await memory.view();
  const pending = [...calls.values()].flatMap((call) => call.pending ?? []);
  return typedMessages<UIMessage>(toUiMessages(messages, { pending }));
}
