import { IndexedDbSessions } from '@isoloop/web-worker';
import { browserPlace, endpointPlace, movableSessions } from '@isoloop/web-worker/move';

/** Address of the endpoint's chat route. */
export const api = '/api/chat';

/** Headers of each request to the endpoint. */
export const headers = () => ({ authorization: `Bearer ${localStorage['token']}` });

/** The conversations, which move between the browser and the edge. */
export const sessions = movableSessions({
  tab: browserPlace,
  edge: endpointPlace(new URL(api, location.href).href, { headers }),
});

interface Listed {
  readonly sessionId: string;
  readonly title?: string | undefined;
  readonly updatedAt: number;
}

/** Returns the conversations of both places, the most recently changed first. */
export async function listConversations(): Promise<readonly Listed[]> {
  const response = await fetch(`${api}s`, { headers: headers() });
  const { chats } = (await response.json()) as { readonly chats: readonly Listed[] };
  const stored = await new IndexedDbSessions().list();
  // The browser keeps a copy of a conversation that has moved to the edge.
  const here = stored.filter(({ movedTo }) => !movedTo);
  return [...here, ...chats].toSorted((one, other) => other.updatedAt - one.updatedAt);
}

/** Deletes a conversation in both places. */
export async function deleteConversation(sessionId: string): Promise<void> {
  await fetch(`${api}/${sessionId}`, { method: 'DELETE', headers: headers() });
  await new IndexedDbSessions().delete(sessionId);
}
