import type { AgentSessionEntry, StoredSessions } from './agent-sessions.ts';
import { channelOf, deletedMessage, type Routes } from './endpoint-routes.ts';

/** Returns the conversations of an endpoint. `api`: address of its chat route. */
export function endpointSessions(api: string, { pathOf, ask, messages }: Routes): StoredSessions {
  return {
    async list() {
      const answer = await ask(`${api}s?limit=1000`);
      const { chats } = (await answer.json()) as { readonly chats: readonly AgentSessionEntry[] };
      return chats;
    },
    rename: (sessionId, title) => ask(pathOf(sessionId), { method: 'PATCH', body: { title } }),
    async delete(sessionId) {
      const path = pathOf(sessionId);
      await ask(path, { method: 'DELETE' });
      const channel = channelOf(path);
      channel.postMessage(deletedMessage);
      channel.close();
    },
    export: async (sessionId) => ({ sessionId, messages: await messages(sessionId) }),
  };
}
