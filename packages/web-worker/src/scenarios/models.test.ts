/// <reference path="../../../../test/provider-server/provided-context.d.ts" />
import { connectAgent, IndexedDbStore, type RemoteAgent } from '@isoloop/web-worker';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import type { ModelAgents } from '../../test-support/models.ts';
import { readStored } from '../../test-support/stored.ts';
import { testDatabase } from '../../test-support/database.ts';

type Name = 'openai' | 'ai-sdk' | 'no-memory' | 'ai-sdk-no-memory';

const startWorker = (): Worker => {
  const worker = new Worker(new URL('../../test-support/models.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  return worker;
};

function connect(agent: Name, path: string, apiKey?: string): RemoteAgent {
  const options = {
    baseURL: `${inject('providerUrl')}${path}/v1`,
    ...(apiKey !== undefined && { apiKey }),
  };
  return connectAgent<ModelAgents>(startWorker(), {
    agent,
    sessionId: crypto.randomUUID(),
    timeoutMs: 120_000,
    options,
  });
}

/** Records, as JSON, all messages that ports and workers send to this page after this call. */
function watchMessages(): readonly string[] {
  const told: string[] = [];
  const listen = EventTarget.prototype.addEventListener;
  const spy = vi.spyOn(EventTarget.prototype, 'addEventListener').mockImplementation(function (
    this: EventTarget,
    type,
    listener,
    options,
  ) {
    if (type === 'message' && (this instanceof MessagePort || this instanceof Worker))
      listen.call(this, type, (event) => told.push(JSON.stringify((event as MessageEvent).data)));
    listen.call(this, type, listener, options);
  });
  onTestFinished(() => spy.mockRestore());
  return told;
}

test.for(['no-memory', 'ai-sdk-no-memory'] as const)(
  '%s: the model key of a worker never reaches the page, and an agent without a memory stores nothing',
  async (name) => {
    const before = await readStored();
    const told = watchMessages();
    const agent = connect(name, '/scripted');
    for await (const _event of agent.stream('What is 2 + 2?')) continue;
    expect((await agent.messages()).length).toBeGreaterThan(1);
    await expect(connect(name, '/fault/401').call('hi')).rejects.toMatchObject({
      code: 'MODEL_AUTH',
    });
    expect(await readStored()).toEqual(before);
    expect(told.length).toBeGreaterThan(3);
    expect(told.join()).toContain('run-end');
    expect(told.join()).not.toContain('sk-of-the-worker');
    // The server echoes its request headers. They prove that the worker has sent the key.
    expect((await connect(name, '/echo').call('hi')).text).toContain(
      'Bearer sk-of-the-worker-alone',
    );
  },
);

test.for(['openai', 'ai-sdk'] as const)(
  '%s: the model of a worker streams from another origin with a key that is stored nowhere',
  async (name) => {
    const counting = connect(name, '/deltas/200', 'sk-secret');
    const deltas: string[] = [];
    for await (const event of counting.stream('count'))
      if (event.type === 'reasoning-chunk') deltas.push(event.delta);
    expect(deltas.length).toBeGreaterThan(1);
    expect((await counting.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);

    const { text } = await connect(name, '/echo', 'sk-echoed').call('hi');
    expect(JSON.parse(text)).toMatchObject({ headers: { authorization: 'Bearer sk-echoed' } });
    const store = new IndexedDbStore({ database: testDatabase('isoloop') });
    const values = [...(await store.getMany(await store.keys(''))).values()];
    expect(values.join()).toContain('sk-echoed');
    expect(values.join()).not.toContain('sk-secret');
  },
);

test('an error response of the model server fails the call on the page with a code', async () => {
  await expect(connect('openai', '/fault/context-length').call('hi')).rejects.toMatchObject({
    code: 'MODEL_CONTEXT_LENGTH',
  });
});
