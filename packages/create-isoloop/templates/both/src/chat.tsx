import { listSessions, type SessionInfo } from '@isoloop/core';
import { agentEndpoint, useAgentChat } from '@isoloop/web-worker/react';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { leave, WithAccess, type Access } from './access.tsx';
import type { Assistant } from './agent.ts';
import { Chats, useChatId } from './chats.tsx';
import { Conversation } from './conversation.tsx';
import { edgeStore } from './edge-store.ts';

const worker = new Worker(new URL('./agent.ts', import.meta.url), { type: 'module' });

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

/** One chat. Each question is answered where the reader chooses. */
function OpenChat({ access }: { readonly access: Access }) {
  const sessionId = useChatId();
  const [place, move] = usePlace(sessionId);
  return <ChatIn key={place} place={place} onMove={move} access={access} sessionId={sessionId} />;
}

function ChatIn({ access, sessionId, place, onMove }: PlaceProps) {
  const headers = { authorization: `Bearer ${access.token}` };
  const source = place === 'tab' ? worker : agentEndpoint('/api/chat', { headers });
  const chat = useAgentChat<Assistant>(source, { sessionId, options: access });
  return (
    <>
      <Chats list={useList(access, chat.isBusy)} current={sessionId} />
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
        {chat.isBusy && <small>You can move when the answer has ended.</small>}
      </label>{' '}
      <button onClick={leave}>Other token</button>
      <Conversation chat={chat} hint={hint} />
    </>
  );
}

/** Returns the chats of both places. Loads them when an answer begins and ends. */
function useList({ token }: Access, isBusy: boolean) {
  const [list, setList] = useState<readonly SessionInfo[]>([]);
  useEffect(() => {
    // After a failure, the list stays as it is.
    listSessions(edgeStore(token)).then(setList, () => {});
  }, [token, isBusy]);
  return list.toSorted((one, other) => other.updatedAt - one.updatedAt);
}

/** All tabs use the same place for a chat, because they show the same messages. */
function usePlace(sessionId: string): readonly [Place, (place: Place) => void] {
  const key = `place:${sessionId}`;
  const place = useSyncExternalStore<Place>(watchStorage, () => localStorage[key] ?? 'tab');
  const move = (next: Place): void => {
    localStorage[key] = next;
    // The browser tells only the other tabs.
    dispatchEvent(new Event('storage'));
  };
  return [place, move];
}

function watchStorage(listener: () => void): () => void {
  addEventListener('storage', listener);
  return () => removeEventListener('storage', listener);
}
