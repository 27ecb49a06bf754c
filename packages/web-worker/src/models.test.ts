/// <reference path="../../../test/provider-server/provided-context.d.ts" />
import { connectAgent, IndexedDbStore, type RemoteAgent } from '@isoloop/web-worker';
import { expect, inject, onTestFinished, test } from 'vitest';

function connect(agent: string, path: string, apiKey = 'sk-echoed'): RemoteAgent {
  const worker = new Worker(new URL('./models.fixture.ts', import.meta.url), { type: 'module' });
  onTestFinished(() => worker.terminate());
  const options = { baseURL: `${inject('providerUrl')}${path}/v1`, apiKey };
  return connectAgent(worker, { agent, sessionId: crypto.randomUUID(), options });
}

test.for(['openai', 'ai-sdk'])('%s in the worker streams from another origin, with its key, which is stored nowhere', async (name) => {
  const counting = connect(name, '/deltas/200', 'sk-secret');
  const deltas: string[] = [];
  for await (const event of counting.stream('count')) if (event.type === 'reasoning-chunk') deltas.push(event.delta);
  expect(deltas.length).toBeGreaterThan(1);
  expect((await counting.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);

  const { text } = await connect(name, '/echo').call('hi');
  expect(JSON.parse(text)).toMatchObject({ headers: { authorization: 'Bearer sk-echoed' } });
  const store = new IndexedDbStore();
  const values = [...(await store.getMany(await store.keys(''))).values()];
  expect(values.join()).toContain('sk-echoed');
  expect(values.join()).not.toContain('sk-secret');
});

test('a server that refuses is the call’s error on the page, with its code', async () => {
  await expect(connect('openai', '/fault/context-length').call('hi')).rejects.toMatchObject({ code: 'MODEL_CONTEXT_LENGTH' });
});
