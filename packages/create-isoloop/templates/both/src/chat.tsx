import { agentEndpoint, useAgentChat } from '@isoloop/web-worker/react';
import { useEffect, useState } from 'react';
import { forgetToken, WithAccess, type Access } from './access.tsx';
import { ConversationList, useSessionId } from './conversation-list.tsx';
import { Conversation } from './conversation.tsx';
import { api, headers, listConversations, sessions } from './places.ts';
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
  return <PlacedChat key={sessionId} access={access} sessionId={sessionId} />;
}

/** Shows a conversation with the agent of its place. */
function PlacedChat({ access, sessionId }: Omit<PlaceProps, 'place' | 'onMove'>) {
  const [place, move, problem] = usePlace(sessionId);
  if (!place) return <p role="status">{problem ?? 'Looking for the conversation…'}</p>;
  return (
    <>
      {problem && <p role="alert">{problem}</p>}
      <ChatIn key={place} place={place} onMove={move} access={access} sessionId={sessionId} />
    </>
  );
}

/** Shows the conversation with the agent of one place. */
function ChatIn({ access, sessionId, place, onMove }: PlaceProps) {
  const source = place === 'tab' ? worker : agentEndpoint(api, { headers });
  const chat = useAgentChat<Assistant>(source, { sessionId, options: access });
  return (
    <>
      <ConversationList list={useConversations(chat.isBusy)} current={sessionId} />
      <label>
        Answer in{' '}
        <select
          value={place}
          // A conversation moves between two answers.
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
function useConversations(isBusy: boolean) {
  const [list, setList] = useState<Awaited<ReturnType<typeof listConversations>>>([]);
  useEffect(() => {
    // After a failure, the list stays as it is.
    listConversations().then(setList, () => {});
  }, [isBusy]);
  return list;
}

/**
 * Returns the place of a conversation, a function that moves it, and the reason if that failed. All
 * tabs follow a move.
 */
function usePlace(sessionId: string) {
  const [place, setPlace] = useState<Place>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const stop = sessions.watch(sessionId, setPlace);
    // A new conversation begins in the tab.
    sessions.whereIs(sessionId).then(
      (found) => setPlace((known) => known ?? found ?? 'tab'),
      (error: Error) => setProblem(error.message),
    );
    return stop;
  }, [sessionId]);
  const move = async (next: Place): Promise<void> => {
    setProblem(undefined);
    // Nobody can write or decide during the move.
    setPlace(undefined);
    try {
      // A conversation without messages is nowhere yet.
      if (await sessions.whereIs(sessionId)) await sessions.moveTo(sessionId, next);
      setPlace(next);
    } catch (error) {
      setProblem((error as Error).message);
      setPlace(place);
    }
  };
  return [place, move, problem] as const;
}
