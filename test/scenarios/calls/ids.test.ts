import { expect, test } from 'vitest';
import { Agent } from '@isoloop/core/agent';
import { attach } from '../../../packages/core/src/event/readers/attach.ts';
import { inMemoryCounters, rateLimit } from '@isoloop/guards';
import { returnToCheckpoint } from '@isoloop/core/state';
import { largeResultStore } from '../../../packages/core/src/results/large/large-result-store.ts';
import { ReActAgent, userMessage, SessionMemory, MemoryStore } from '@isoloop/core';
import { keywordMemory, keywordRetriever } from '@isoloop/recall';
import { ScriptedModel } from '@isoloop/core/testing';
import { EchoMemory } from '../../../packages/edge/src/kv/log/echo-memory.ts';
import { endpointPlace } from '../../../packages/core/src/memory/move/endpoint-place.ts';
import { storePlace } from '../../../packages/core/src/memory/move/store-place.ts';
import { repairSession } from '@isoloop/core/memory';

/** What a program passes if it has no id: the value, and how an error names it. */
const noIds: readonly (readonly [value: unknown, name: string])[] = [
  [undefined, 'nothing'],
  [null, 'null'],
  [5, '5'],
  [{}, 'an object'],
  [['a'], 'an array'],
  ['', '""'],
  [' \n', '" \\n"'],
];

/** Every place that makes a key of an id. */
const places: Record<string, (id: string) => unknown> = {
  SessionMemory: (id) => new SessionMemory(new MemoryStore(), id),
  EchoMemory: (id) => new EchoMemory(new MemoryStore(), id),
  repairSession: (id) => repairSession(new MemoryStore(), id),
  storePlace: (id) => storePlace({ name: 'a:', store: new MemoryStore() }).read(id),
  endpointPlace: (id) => endpointPlace('https://a.test', { fetch: noFetch }).read(id),
  'keywordMemory: namespace': (id) => keywordMemory({ store: new MemoryStore(), namespace: id }),
  'keywordRetriever: namespace': (id) =>
    keywordRetriever({ store: new MemoryStore(), namespace: id }),
  'keywordMemory: record': (id) =>
    keywordMemory({ store: new MemoryStore() }).record([userMessage('x')], { sessionId: id }),
  'keywordMemory: deleteSession': (id) =>
    keywordMemory({ store: new MemoryStore() }).deleteSession(id),
  'returnToCheckpoint()': (id) => {
    const memory = new SessionMemory(new MemoryStore(), 's');
    const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([]), memory });
    return returnToCheckpoint(agent, id);
  },
  'large results': (id) => largeResultStore(new MemoryStore()).read({ sessionId: id }, 'call'),
};

function noFetch(): Promise<Response> {
  throw new Error('No request was expected.');
}

test.for(
  Object.entries(places).flatMap(([name, open]) =>
    noIds.map(([id, words]) => ({ name, open, id, words })),
  ),
)('$name refuses the id $words', async ({ open, id, words }) => {
  const failure: unknown = await Promise.resolve()
    .then(() => open(id as string))
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'AgentError', code: 'INVALID_INPUT' });
  expect((failure as Error).message).toContain(`must be a string that is not blank; got ${words}.`);
});

test.each(['name', 'sessionId', 'userId'])('an agent refuses a blank %s', (option) => {
  const options = { name: 'a', model: new ScriptedModel([]), [option]: ' ' };
  expect(() => new Agent(options)).toThrow(`The ${option} of Agent must be a string that is not`);
});

test.each(['', ' '])('attach() refuses the run id "%s"', (runId) => {
  const agent = new Agent({ name: 'a', model: new ScriptedModel([]) });
  expect(() => attach(agent, { runId })).toThrow('The runId of attach() must be a string that is');
});

test.each([undefined, null, 5, '', ' '])(
  'an agent call fails if `generateId` returns %j as the id of the run',
  async (id) => {
    const agent = new Agent({
      name: 'a',
      sessionId: 's',
      model: new ScriptedModel(['x']),
      generateId: () => id as string,
    });
    await expect(agent.call('hi')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('The run id from generateId() must be a string that is'),
    });
  },
);

test('a guard refuses a blank key of a user', async () => {
  const guard = rateLimit({ key: () => '', store: inMemoryCounters() });
  const agent = new Agent({ name: 'a', model: new ScriptedModel(['x']), use: [guard] });
  await expect(agent.call('hi')).resolves.toMatchObject({ text: expect.not.stringMatching('^x$') });
});

const pairs = [
  ['a:b', 'c', 'a', 'b:c'],
  ['a/b', 'c', 'a', 'b/c'],
  ['a%3Ab', 'c', 'a:b', 'c'],
] as const;

test.for(pairs)(
  'records of %s and %s are no records of %s and %s',
  async ([one, id, two, other]) => {
    const store = new MemoryStore();
    const memory = keywordMemory({ store, namespace: one });
    await memory.record([userMessage('secret plan')], { sessionId: id });
    const others = keywordMemory({ store, namespace: two });
    await others.deleteSession(other);
    expect(await others.retrieve('secret plan')).toEqual([]);
    expect(await memory.retrieve('secret plan')).toHaveLength(1);
    const results = largeResultStore(store);
    await results.write({ sessionId: one }, id, 'secret');
    expect(await results.read({ sessionId: two }, other)).toBeUndefined();
    await results.delete(two);
    expect(await results.read({ sessionId: one }, id)).toBe('secret');
    await results.write({ userId: one, sessionId: id }, 'call', 'of a user');
    expect(await results.read({ userId: two, sessionId: other }, 'call')).toBeUndefined();
    await results.delete(other, two);
    expect(await results.read({ userId: one, sessionId: id }, 'call')).toBe('of a user');
  },
);
