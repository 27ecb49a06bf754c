import { expect, test, vi } from 'vitest';
import { ReActAgent, tool, type AgentEvent, type Middleware } from '@isoloop/core';
import { fallback, retry } from '@isoloop/core/resilience';
import { ScriptedModel } from '@isoloop/core/testing';
import { reportFailure } from '../../../packages/core/src/error/report-failure.ts';

const setUp = (middleware: Middleware) => {
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
  const turn = [{ toolCalls: [{ name: 'look' }] }, 'done'];
  const model = new ScriptedModel([...turn, ...turn]);
  return new ReActAgent({ name: 'a', model, tools: [look], use: [middleware] });
};

const never = new Promise<never>(() => {});

const odd: readonly (readonly [string, () => unknown])[] = [
  ['a promise that never settles', () => never],
  ['a promise of an event', async () => ({ type: 'run-end' })],
  ['a promise that rejects', () => Promise.reject(new Error('late'))],
  ['a text', () => 'event'],
  ['an object that is no event', () => ({})],
];

for (const type of ['run-start', 'pre-reasoning', 'post-acting', 'run-end'] as const)
  test.for(odd)(`a \`mapEvent\` that returns %s for ${type} fails the call`, async ([, make]) => {
    const agent = setUp({
      name: 'mapper',
      mapEvent: (event: AgentEvent) => (event.type === type ? (make() as AgentEvent) : event),
    });
    const events: unknown[] = [];
    const stream = agent.stream('go');
    const read = (async () => {
      for await (const event of stream) events.push(event.type);
    })();
    const error = {
      code: 'HOOK_ERROR',
      message: expect.stringContaining('mapEvent() of "mapper"'),
    };
    await expect(stream.result).rejects.toMatchObject(error);
    await read.catch(() => {});
    expect(events.every((each) => typeof each === 'string')).toBe(true);
  });

test('a `mapEvent` may change an event, but not its type or number', async () => {
  const change = (fields: object) =>
    setUp({ name: 'mapper', mapEvent: (event) => ({ ...event, ...fields }) as AgentEvent });
  expect((await change({ userId: 'x' }).call('go')).text).toBe('done');
  for (const fields of [{ type: 'error' }, { seq: 0 }])
    await expect(change(fields).call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR' });
});

test('a listener that is asynchronous and rejects goes to the console', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const listener = async (): Promise<void> => {
    throw new Error('listener down');
  };
  reportFailure<[unknown]>('Odd.', listener as (error: unknown) => void, new Error('x'));
  await expect.poll(() => warn.mock.calls.flat().map(String).join()).toContain('listener down');
  warn.mockRestore();
});

test('a predicate that is asynchronous fails the call, because a promise would count as true', async () => {
  const failing = () => new ScriptedModel([{ error: new Error('down') }, 'late']);
  const isFine = (async () => false) as unknown as () => boolean;
  for (const part of [
    fallback([new ScriptedModel(['other'])], { when: isFine }),
    retry({ isTransient: isFine, sleep: async () => {} }),
  ]) {
    const agent = new ReActAgent({ name: 'a', model: failing(), use: [part] });
    await expect(agent.call('go')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('must not be asynchronous'),
    });
  }
});
