import { checkOptions } from '@isoloop/core/adapter';
import { connectAgent, type ConnectOptions } from '../../page/connect-agent.ts';
import type { RemoteAgent } from '../../page/remote-agent.ts';
import type { InspectedEvent } from '../steps/event-runs.ts';
import type { InspectorSource } from './inspector-source.ts';
import type { StoredLogs } from './stored-logs.ts';

/** Which agent of a worker to inspect. Give the same values as to `connectAgent()`. */
export interface WorkerSourceOptions extends Pick<
  ConnectOptions,
  'agent' | 'options' | 'timeoutMs' | 'page'
> {
  /**
   * Name of the IndexedDB database with the conversations.
   * @default 'isoloop'
   */
  readonly database?: string;
}

/**
 * Inspects an agent in a worker. The conversations are in this browser, so their prompts are shown
 * as they are. Throws `CONFIGURATION` for an unknown option.
 */
export function workerSource(
  worker: Worker | SharedWorker,
  options: WorkerSourceOptions = {},
): InspectorSource {
  const fields = 'agent,database:string|? timeoutMs:count|? page:array|? options';
  checkOptions('workerSource()', options, fields);
  const { database, ...connect } = options;
  const agents: Map<string, RemoteAgent> = new Map();
  const agentOf = (sessionId: string): RemoteAgent => {
    const agent = agents.get(sessionId) ?? connectAgent(worker, { ...connect, sessionId });
    agents.set(sessionId, agent);
    return agent;
  };
  let logs: Promise<StoredLogs> | undefined;
  // Loaded at its first use, because it is most of the inspector's size.
  const stored = (): Promise<StoredLogs> =>
    (logs ??= import('./stored-logs.ts').then(({ storedLogs }) =>
      storedLogs(connect.agent, database),
    ));
  return {
    sessions: async () => (await stored()).sessions(),
    records: async (sessionId) => (await stored()).records(sessionId),
    async *events(sessionId, signal) {
      const runs = agentOf(sessionId).watch();
      signal.addEventListener('abort', () => void runs.cancel());
      if (!signal.aborted)
        yield* runs.batches() as AsyncIterable<readonly object[]> as AsyncIterable<
          readonly InspectedEvent[]
        >;
    },
    async fork(draft) {
      const sessionId = await (await stored()).create(draft);
      // The run's events show its end, also a failure.
      agentOf(sessionId)
        .call(draft.input)
        .catch(() => {});
      return sessionId;
    },
    close() {
      for (const agent of agents.values()) agent.close();
      agents.clear();
    },
  };
}
