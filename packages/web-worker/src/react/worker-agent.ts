import { typedMessages, typedTransport } from '@isoloop/core/ai-sdk';
import { connectAgent } from '../page/connect-agent.ts';
import type { RemoteAgent } from '../page/remote-agent.ts';
import type { UIMessage } from 'ai';
import type { AgentLink, LinkOptions } from './agent-source.ts';

/** Links a chat to the agent in a worker. */
export function linkWorkerAgent(worker: Worker | SharedWorker, options: LinkOptions): AgentLink {
  const agent = connectAgent(worker, options);
  return {
    transport: typedTransport(agent.chatTransport({ events: true })),
    outlivesPage: false,
    // Loaded at its first use, because most pages show only one conversation.
    async sessions() {
      const { databaseSessions } = await import('./database-sessions.ts');
      return databaseSessions(options.agent);
    },
    history: async () => typedMessages<UIMessage>([...(await agent.uiMessages())]),
    watch: (listener) => void watchRuns(agent, listener),
    stop: async () => {},
    close: () => agent.close(),
  };
}

/**
 * Calls `listener` once for each run of the session, when its question is in the log. Ends with the
 * connection.
 */
async function watchRuns(agent: RemoteAgent, listener: (runId: string) => void): Promise<void> {
  let seen = '';
  try {
    for await (const { type, runId, agentPath } of agent.watch()) {
      const isAtWork = type === 'pre-reasoning' || type === 'pre-acting';
      if (!isAtWork || agentPath.length > 1 || runId === seen) continue;
      seen = runId;
      listener(runId);
    }
  } catch {
    // The connection has ended. The next message reports it.
  }
}
