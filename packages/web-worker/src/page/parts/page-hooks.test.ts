import { textOf } from '@isoloop/core';
import { pageHooks, pageTools } from '@isoloop/web-worker';
import { expect, test } from 'vitest';
import type { PageFixtureOptions } from '../../../test-support/page.ts';
import {
  startPageWorker,
  toolOutputs,
  calls,
  forever,
  title,
} from '../../../test-support/page-under-test.ts';

test('the priority of a page hook is that of its handlers', async () => {
  const told: string[] = [];
  const note = (name: string) => () => void told.push(name);
  const part = pageHooks([
    { name: 'usual', on: { 'post-call': note('usual') } },
    {
      name: 'early',
      priority: 1,
      on: { '*': ({ type }) => void (type === 'post-call' && told.push('early')) },
    },
    { name: 'first', priority: 0, on: { 'post-call': note('first') } },
    { name: 'late', priority: 0, on: { 'post-call': { handle: note('late'), priority: 200 } } },
  ]);
  await startPageWorker()
    .connect({ replies: ['one'] }, { page: [part] })
    .call('go');
  expect(told).toEqual(['first', 'early', 'usual', 'late']);
});

test('page hooks receive events, change modifiable events, and reject tool calls', async () => {
  const told: string[] = [];
  const part = pageHooks([
    {
      name: 'told',
      on: {
        'reasoning-chunk': ({ delta }) => void told.push(delta),
        'run-end': () => void told.push('end'),
      },
    },
    {
      name: 'edit',
      on: {
        'post-reasoning': (event) => ({
          ...event,
          message: {
            ...event.message,
            content: [{ type: 'text', text: textOf(event.message).toUpperCase() }],
          },
        }),
      },
    },
  ]);
  const agent = startPageWorker().connect({ replies: ['one two'] }, { page: [part] });
  expect((await agent.call('go')).text).toBe('ONE TWO');
  expect(told).toEqual(['one ', 'two', 'end']);
  const refusing = pageHooks([{ on: { 'pre-acting': ({ reject }) => reject('not now') } }]);
  const other = startPageWorker().connect({ replies: calls('here') }, { page: [refusing] });
  await other.call('go');
  expect(toolOutputs(await other.messages())).toEqual([expect.stringContaining('not now')]);
});

test.for([
  [
    'throws',
    () => {
      throw new Error('boom');
    },
    /Hook "bad" failed on the page at pre-reasoning: boom/,
  ],
  [
    'writes to its event',
    (event: object) => {
      (event as { seq: number }).seq = 0;
    },
    /failed on the page at pre-reasoning/,
  ],
  [
    'returns an event that cannot be cloned',
    (event: object) => ({ ...event, f: () => {} }),
    /could not be cloned/,
  ],
  ['never answers', forever, /did not answer within 20 ms/],
] as const)(
  'a page hook that %s fails the call, unless its onError is ignore',
  async ([, handler, message]) => {
    const bad = { name: 'bad', on: { 'pre-reasoning': handler as () => undefined } };
    const options = handler === forever ? { timeoutMs: 20 } : {};
    const agent = startPageWorker().connect(
      { replies: ['fine'] },
      { page: [pageHooks([bad], options)] },
    );
    await expect(agent.call('go')).rejects.toMatchObject({
      message: expect.stringMatching(message),
    });
    const ignored = pageHooks([{ ...bad, onError: 'ignore' }], options);
    expect(
      (
        await startPageWorker()
          .connect({ replies: ['fine'] }, { page: [ignored] })
          .call('go')
      ).text,
    ).toBe('fine');
  },
);

test('a page hook that fails at a chunk fails the call at the hook’s next event', async () => {
  const part = pageHooks([
    {
      name: 'bad',
      on: {
        'reasoning-chunk': () => {
          throw new Error('boom');
        },
        'post-reasoning': () => {},
      },
    },
  ]);
  const agent = startPageWorker().connect({ replies: ['fine'] }, { page: [part] });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'bad', event: 'reasoning-chunk' },
  });
});

test('a page hook can use an event’s controls; errors keep their code, and a control fails at events without that control', async () => {
  const part = (on: object, onError?: 'ignore') =>
    pageHooks([{ name: 'page', on: on as never, ...(onError && { onError }) }]);
  const at = (type: string, name: 'stop' | 'reject', ...given: unknown[]) => ({
    [type]: (event: Record<string, (...given: unknown[]) => void>) => event[name]!(...given),
  });
  const { connect } = startPageWorker();
  for (const type of ['run-start', 'pre-call']) {
    const agent = connect({}, { sessionId: type, page: [part(at(type, 'reject', 'No.'))] });
    const rejected = { reason: 'rejected', text: 'No.', error: { code: 'HOOK_REJECTED' } };
    expect(await agent.call('go')).toMatchObject(rejected);
    expect(await agent.call('go', { throwOnError: false })).toMatchObject(rejected);
    expect(await agent.messages()).toEqual([]);
  }
  const wrong: readonly [PageFixtureOptions, object][] = [
    [{}, at('post-call', 'stop')],
    [{}, at('*', 'stop')],
    [
      { replies: calls('title', { text: 'five' }) },
      { ...at('acting-chunk', 'stop'), 'post-call': () => {} },
    ],
  ];
  for (const [index, [options, on]] of wrong.entries()) {
    const page = [part(on, 'ignore'), pageTools([title])];
    const agent = connect(options, { sessionId: `wrong-${index}`, page });
    await expect(agent.call('go')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringMatching(/^Hook "page": There is no control `stop` at /),
      details: { hook: 'page', control: 'stop' },
    });
  }
  const delta = { ...at('reasoning-chunk', 'stop'), 'post-call': () => {} };
  const agent = connect({}, { sessionId: 'delta', page: [part(delta)] });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'HOOK_ERROR',
    details: { hook: 'page', event: 'reasoning-chunk' },
  });
});

test('a page hook of all events runs after its handler of one type, and narrows to the controls of a type', async () => {
  const told: string[] = [];
  const part = pageHooks([
    {
      on: {
        '*'(event, run) {
          told.push(`* ${event.type} ${String(run)}`);
          if (event.type === 'post-reasoning') event.jumpTo('end', 'From the page.');
        },
        'post-reasoning'(event) {
          told.push(`one ${event.type} ${'stop' in { ...event }}`);
          return { ...event, message: { ...event.message, id: 'hooked' } };
        },
        'pre-call': { priority: 200, handle: ({ type }) => void told.push(`one ${type}`) },
      },
    },
  ]);
  const agent = startPageWorker().connect({ replies: ['one'] }, { page: [part] });
  expect((await agent.call('go')).text).toBe('From the page.');
  expect((await agent.messages()).map(({ id }) => id)).toContain('hooked');
  expect(told.filter((line) => /pre-call|post-reasoning/.test(line))).toEqual([
    '* pre-call undefined',
    'one pre-call',
    'one post-reasoning false',
    '* post-reasoning undefined',
  ]);
});

test('a control that a page hook calls too late throws on the page', async () => {
  let late: Promise<unknown> | undefined;
  const part = pageHooks([
    {
      on: {
        'pre-call': ({ stop }) => {
          late = new Promise((resolve) => setTimeout(resolve))
            .then(stop)
            .catch((error: unknown) => error);
        },
      },
    },
  ]);
  const agent = startPageWorker().connect({}, { page: [part] });
  expect((await agent.call('go')).reason).toBe('stop');
  expect(await late).toMatchObject({ code: 'CONFIGURATION' });
});
