import type { AgentSessionEntry, StoredSessions } from '@isoloop/core/host';
import type { AnswerChannel } from '../shared/answer-channel.ts';
import { channelOf, deletedMessage, type EndpointRoutes } from './endpoint-routes.ts';
import { sharedList } from '../shared/shared-list.ts';

/**
 * Returns the conversations of an endpoint. `api`: address of its chat route. `channel`: channel of
 * the user's tabs.
 */
export function endpointSessions(
  api: string,
  { pathOf, ask, messages }: EndpointRoutes,
  channel: AnswerChannel | undefined,
): StoredSessions {
  const load = async (): Promise<readonly AgentSessionEntry[]> => {
    const answer = await ask(`${api}s?limit=1000`);
    const { chats } = (await answer.json()) as { readonly chats: readonly AgentSessionEntry[] };
    return chats;
  };
  return {
    list: () => sharedList(channel, load),
    rename: (sessionId, title) => ask(pathOf(sessionId), { method: 'PATCH', body: { title } }),
    async delete(sessionId) {
      const path = pathOf(sessionId);
      await ask(path, { method: 'DELETE' });
      const otherTabs = channelOf(path);
      otherTabs.postMessage(deletedMessage);
      otherTabs.close();
    },
    export: async (sessionId) => ({ sessionId, messages: await messages(sessionId) }),
  };
}
