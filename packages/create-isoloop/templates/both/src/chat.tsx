import { listSessions, type SessionInfo } from '@isoloop/core';
import { agentEndpoint, useAgentChat } from '@isoloop/web-worker/react';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { forgetToken, WithAccess, type Access } from './access.tsx';
import { ConversationList, useSessionId } from './conversation-list.tsx';
import { Conversation } from './conversation.tsx';
import { edgeStore } from './edge-store.ts';
import type { Assistant } from './worker.ts';

const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });

const hint =
  'The endpoint’s log says more. The key and the token of `npm run dev` are in .dev.vars.';

type Place = 'tab' | 'edge';

interface PlaceProps {
  readonly access: Access;
  readonly sessionId: string;
  readonly place: Place;
  readonly onMove: (place: Place) => void;
}

export function Chat() {
  return (
    <main>
      <WithAccess>{(access) => <OpenChat access={access} />}</WithAccess>
    </main>
  );
}

/** Shows the conversation in the page's address. The user chooses where the agent answers. */
function OpenChat({ access }: { readonly access: Access }) {
  const sessionId = useSessionId();
  const [place, move] = usePlace(sessionId);
  return <ChatIn key={place} place={place} onMove={move} access={access} sessionId={sessionId} />;
}

/** Shows the conversation with the agent of one place. */
function ChatIn({ access, sessionId, place, onMove }: PlaceProps) {
  const headers = { authorization: `Bearer ${access.token}` };
  const source = place === 'tab' ? worker : agentEndpoint('/api/chat', { headers });
  const chat = useAgentChat<Assistant>(source, { sessionId, options: access });
  return (
    <>
      <ConversationList list={useConversations(access, chat.isBusy)} current={sessionId} />
      <label>
        Answer in{' '}
        <select
          value={place}
          // Both places would answer if the conversation moved during an answer.
          disabled={chat.isBusy || chat.status === 'loading'}
          onChange={({ target }) => onMove(target.value as Place)}
        >
          <option value="tab">this tab</option>
          <option value="edge">the edge</option>
        </select>{' '}
        {chat.isBusy && <small>You can change this when the answer has ended.</small>}
      </label>{' '}
      <button onClick={forgetToken}>Other token</button>
      <Conversation chat={chat} hint={hint} />
    </>
  );
}

/** Returns the list of all conversations. Loads it when an answer begins and ends. */
function useConversations({ token }: Access, isBusy: boolean) {
  const [list, setList] = useState<readonly SessionInfo[]>([]);
  useEffect(() => {
    // After a failure, the list stays as it is.
    listSessions(edgeStore(token)).then(setList, () => {});
  }, [token, isBusy]);
  return list.toSorted((one, other) => other.updatedAt - one.updatedAt);
}

/**
 * Returns the place of a conversation, and a function that moves it. All tabs use the same place,
 * because they show the same messages.
 */
function usePlace(sessionId: string): readonly [Place, (place: Place) => void] {
  const key = `place:${sessionId}`;
  const place = useSyncExternalStore<Place>(watchStorage, () => localStorage[key] ?? 'tab');
  const move = (next: Place): void => {
    localStorage[key] = next;
    // The browser sends this event only to the other tabs.
    dispatchEvent(new Event('storage'));
  };
  return [place, move];
}

function watchStorage(listener: () => void): () => void {
  addEventListener('storage', listener);
  return () => removeEventListener('storage', listener);
}
