import { connectAgent, IndexedDbSessions, type RemoteAgent } from '@isoloop/web-worker';
import type { Decision } from '@isoloop/core';

const worker = new Worker(new URL('./agent.worker.ts', import.meta.url), { type: 'module' });
const sessions = new IndexedDbSessions();

async function withAgent<T>(sessionId: string, job: (agent: RemoteAgent) => Promise<T>) {
  const agent = connectAgent(worker, { sessionId });
  try {
    return await job(agent);
  } finally {
    agent.close();
  }
}

/** Functions that a test calls in the page. */
const page = {
  ask: (id: string, text: string) => withAgent(id, (agent) => agent.call(text)),
  decide: (id: string, decision: Decision) => withAgent(id, (agent) => agent.decide(decision)),
  pending: (id: string) => withAgent(id, (agent) => agent.pending()),
  messages: (id: string) => withAgent(id, (agent) => agent.messages()),
  exported: (sessionId: string) => sessions.export(sessionId),
  imported: (given: unknown, sessionId: string) => sessions.import(given, { sessionId }),
};
export type MovingPage = typeof page;
Object.assign(globalThis, { moving: page });
