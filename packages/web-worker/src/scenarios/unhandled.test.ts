import { connectAgent, type RemoteAgent } from '@isoloop/web-worker';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';

let unhandled: unknown[] = [];
const note = (event: PromiseRejectionEvent): void => {
  unhandled.push(event.reason);
  event.preventDefault();
};
beforeEach(() => {
  unhandled = [];
  addEventListener('unhandledrejection', note);
});
afterEach(() => removeEventListener('unhandledrejection', note));

/** What a page asks of an agent without waiting for the answer. */
const requests: Readonly<Record<string, (agent: RemoteAgent) => unknown>> = {
  call: (agent) => agent.call('go'),
  resume: (agent) => agent.resume(),
  decide: (agent) => agent.decide({ toolUseId: 'nobody', type: 'approve' }),
  'the result of stream': (agent) => agent.stream('go').result,
  'a detached stream': (agent) => agent.stream('go', { detached: true }),
  'a read of stream': (agent) => agent.stream('go')[Symbol.asyncIterator]().next(),
  'a readable stream': (agent) => agent.stream('go').readable().cancel(),
  'cancel of stream': (agent) => agent.stream('go').cancel(),
  'a read of watch': (agent) => agent.watch()[Symbol.asyncIterator]().next(),
  'cancel of watch': (agent) => agent.watch().cancel(),
  interrupt: (agent) => agent.interrupt(),
  pending: (agent) => agent.pending(),
  messages: (agent) => agent.messages(),
  uiMessages: (agent) => agent.uiMessages(),
  clear: (agent) => agent.clear(),
};

function connect(): RemoteAgent {
  const sessionId = `unhandled-${crypto.randomUUID()}`;
  const worker = new Worker(new URL('../../test-support/tabs.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  // The model has no reply, so all runs fail.
  const options = { replies: [], database: sessionId };
  return connectAgent(worker, { timeoutMs: 120_000, sessionId, options });
}

/** A rejection that nobody handles is reported in a later task. */
const laterTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

test.for(Object.entries(requests))(
  '%s is no unhandled rejection if the run fails, the worker ends, or the connection has ended',
  async ([, request]) => {
    const agent = connect();
    await agent.messages();
    void request(agent);
    // The worker answers a later request after the first one.
    await agent.call('again').catch(() => {});
    await agent.messages();
    await laterTask();
    expect(unhandled).toEqual([]);
    void request(agent);
    agent.terminate();
    await laterTask();
    expect(unhandled).toEqual([]);
    void request(agent);
    await laterTask();
    expect(unhandled).toEqual([]);
  },
);
