import { agentWorker } from '@isoloop/web-worker';
import {
  agentEndpoint,
  useAgentChat,
  useMovableSession,
  type MovableSession,
} from '@isoloop/react';
import { useEffect, useState } from 'react';
import { forgetToken, WithAccess, type Access } from './access.tsx';
import { ConversationList, useSessionId } from './conversation-list.tsx';
import { Conversation } from './conversation.tsx';
import { api, deleteConversation, headers, listConversations, sessions } from './places.ts';
import type { Assistant } from './worker.ts';

const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });

const hint =
  'The endpoint’s log says more. The key and the token of `npm run dev` are in .dev.vars.';

type Place = 'tab' | 'edge';

interface PlaceProps {
  readonly access: Access;
  readonly sessionId: string;
  readonly place: Place;
  readonly moving: MovableSession<Place>;
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
  return <PlacedChat key={sessionId} access={access} sessionId={sessionId} />;
}

/** Shows a conversation with the agent of its place. All tabs follow a move. */
function PlacedChat({ access, sessionId }: Pick<PlaceProps, 'access' | 'sessionId'>) {
  const moving = useMovableSession(sessions, sessionId, { initial: 'tab' });
  const { place, isMoving, error } = moving;
  // Nobody can write or decide during a move.
  if (!place || isMoving) return <p role="status">{error?.message ?? 'Just a moment…'}</p>;
  return (
    <>
      {error && <p role="alert">{error.message}</p>}
      <ChatIn key={place} moving={moving} place={place} access={access} sessionId={sessionId} />
    </>
  );
}

/** Shows the conversation with the agent of one place. */
function ChatIn({ access, sessionId, place, moving }: PlaceProps) {
  const source =
    place === 'tab'
      ? agentWorker<Assistant>(worker, { options: access })
      : agentEndpoint(api, { headers });
  const chat = useAgentChat<Assistant>(source, { sessionId, onError: moving.follow });
  return (
    <>
      <ConversationList
        list={useConversations(chat.isBusy)}
        current={sessionId}
        onDelete={deleteConversation}
      />
      <div className="bar">
        <label>
          Answer in{' '}
          <select
            value={place}
            // A conversation moves between two answers.
            disabled={chat.isBusy || chat.status === 'loading'}
            onChange={({ target }) => void moving.moveTo(target.value as Place)}
          >
            <option value="tab">this tab</option>
            <option value="edge">the edge</option>
          </select>
        </label>
        <button onClick={forgetToken}>Other token</button>
        {chat.isBusy && <small>You can change this when the answer has ended.</small>}
      </div>
      <Conversation chat={chat} hint={hint} />
    </>
  );
}

/** Returns the list of all conversations. Loads it when an answer begins and ends. */
function useConversations(isBusy: boolean) {
  const [list, setList] = useState<Awaited<ReturnType<typeof listConversations>>>([]);
  useEffect(() => {
    // After a failure, the list stays as it is.
    listConversations().then(setList, () => {});
  }, [isBusy]);
  return list;
}
