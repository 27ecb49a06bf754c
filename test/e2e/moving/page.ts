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
  ask: (sessionId: string, text: string) => withAgent(sessionId, (agent) => agent.call(text)),
  decide: (sessionId: string, decision: Decision) =>
    withAgent(sessionId, (agent) => agent.decide(decision)),
  pending: (sessionId: string) => withAgent(sessionId, (agent) => agent.pending()),
  messages: (sessionId: string) => withAgent(sessionId, (agent) => agent.messages()),
  exported: (sessionId: string) => sessions.export(sessionId),
  imported: (given: unknown, sessionId: string) => sessions.import(given, { sessionId }),
};
export type MovingPage = typeof page;
Object.assign(globalThis, { moving: page });
