import { connectAgent, type ConnectOptions, type RemoteAgent } from '@isoloop/web-worker';
import { onTestFinished } from 'vitest';
import type { FixtureOptions, FixtureReport } from './agent.ts';

export interface WorkerUnderTest {
  readonly worker: Worker;
  connect(sessionId: string, options?: FixtureOptions, more?: Partial<ConnectOptions>): RemoteAgent;
  /**
   * Returns the worker's counts for a session, after the worker has handled all earlier messages.
   */
  report(sessionId: string): Promise<FixtureReport>;
}

/** Starts a worker that ends with the test. */
export function startWorker(): WorkerUnderTest {
  const worker = new Worker(new URL('./agent.ts', import.meta.url), { type: 'module' });
  onTestFinished(() => worker.terminate());
  return {
    worker,
    connect(sessionId, options = {}, more = {}) {
      const agent = connectAgent(worker, { sessionId, options, timeoutMs: 120_000, ...more });
      // A worker that ends while it starts cannot tell it.
      onTestFinished(() => agent.close());
      return agent;
    },
    report: (sessionId) =>
      new Promise((resolve) => {
        const listen = ({ data }: MessageEvent<Partial<FixtureReport>>): void => {
          if (data.report !== sessionId) return;
          worker.removeEventListener('message', listen);
          resolve(data as FixtureReport);
        };
        worker.addEventListener('message', listen);
        worker.postMessage({ report: sessionId });
      }),
  };
}

/** Reads a stream of events to its end. */
export async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}
