import {
  checkOptions,
  string,
  optional,
  nonNegative,
  array,
  anything,
  type OptionTable,
} from '@isoloop/core/options';
import { retryableOnce } from '@isoloop/core/wait';
import { connectAgent, type ConnectOptions, type RemoteAgent } from '@isoloop/web-worker';
import type { InspectedEvent } from '../steps/event-runs.ts';
import type { InspectorSource } from './inspector-source.ts';

/** Which agent of a worker to inspect. Give the same values as to `connectAgent()`. */
export interface WorkerSourceOptions extends Pick<
  ConnectOptions,
  'agent' | 'options' | 'timeoutMs' | 'page'
> {
  /** Name of the IndexedDB database with the conversations. Default: `isoloop`. */
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
  checkOptions('workerSource()', options, workerSourceOptions);
  const { database, ...connect } = options;
  const openAgents: Set<RemoteAgent> = new Set();
  const enter = (sessionId: string): RemoteAgent => {
    const agent = connectAgent(worker, { ...connect, sessionId });
    openAgents.add(agent);
    return agent;
  };
  const leave = (agent: RemoteAgent): void => {
    agent.close();
    openAgents.delete(agent);
  };
  // Loaded at its first use, because it is most of the inspector's size.
  const loadLogs = retryableOnce(async () => {
    const { storedLogs } = await import('./stored-logs.ts');
    return storedLogs(connect.agent, database);
  });
  return {
    sessions: async () => (await loadLogs()).sessions(),
    records: async (sessionId) => (await loadLogs()).records(sessionId),
    async *events(sessionId, signal) {
      if (signal.aborted) return;
      const agent = enter(sessionId);
      const runs = agent.watch();
      signal.addEventListener('abort', () => void runs.cancel());
      try {
        yield* runs.batches() as AsyncIterable<readonly object[]> as AsyncIterable<
          readonly InspectedEvent[]
        >;
      } finally {
        leave(agent);
      }
    },
    async fork(draft) {
      const sessionId = await (await loadLogs()).create(draft);
      // `close()` leaves this connection open, because it would abort the answer.
      const agent = connectAgent(worker, { ...connect, sessionId });
      // The run's events show its end, also a failure.
      agent
        .call(draft.input)
        .catch(() => {})
        .finally(() => agent.close());
      return sessionId;
    },
    close() {
      for (const agent of openAgents) leave(agent);
    },
  };
}

const workerSourceOptions: OptionTable<WorkerSourceOptions> = {
  agent: optional(string),
  database: optional(string),
  timeoutMs: optional(nonNegative),
  page: optional(array),
  options: anything,
};
