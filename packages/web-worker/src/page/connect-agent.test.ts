import { textOf } from '@isoloop/core';
import { expect, test } from 'vitest';
import { connectAgent } from '@isoloop/web-worker';
import { startWorker } from '../../test-support/worker-under-test.ts';

test('two sessions of one worker do not see each other', async () => {
  const { connect } = startWorker();
  const [one, two] = [
    connect('one', { replies: ['I am one.'] }),
    connect('two', { replies: ['I am two.'] }),
  ];
  expect((await Promise.all([one.call('who?'), two.call('who?')])).map(({ text }) => text)).toEqual(
    ['I am one.', 'I am two.'],
  );
  expect((await one.messages()).map(textOf)).toEqual(['who?', 'I am one.']);
});

test('two connections to one session share its agent, and one stays open when the other closes', async () => {
  const { connect, report } = startWorker();
  const [one, two] = [connect('same', { replies: ['first', 'second'] }), connect('same')];
  await one.call('a');
  one.close();
  expect((await two.call('b')).text).toBe('second');
  expect((await two.messages()).map(textOf)).toEqual(['a', 'first', 'b', 'second']);
  expect((await report('same')).built).toBe(1);
});

test('a new connection waits for the run of a closed connection', async () => {
  const { worker, connect, report } = startWorker();
  const old = connect('left', { gated: true, replies: [{ text: 'one ', hang: true }] });
  const call = old.call('go');
  while ((await report('left')).reads < 1);
  old.close();
  await expect(call).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  const next = connect('left').call('hi');
  expect((await report('left')).built).toBe(1);
  worker.postMessage({ open: true });
  expect((await next).text).toBe('ok');
  expect((await report('left')).built).toBe(2);
});

test('after the last connection has closed, a new connection builds a new agent once the old run has ended', async () => {
  const { connect, report } = startWorker();
  const options = { database: `reconnect-${crypto.randomUUID()}` };
  const old = connect('again', { ...options, replies: [{ text: 'one two', hang: true }] });
  const read = async (): Promise<void> => {
    for await (const event of old.stream('go'))
      if (event.type === 'reasoning-chunk' && event.delta === 'two') old.close();
  };
  await expect(read()).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  const agent = connect('again', { ...options, replies: ['new'] });
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'one two']);
  expect((await agent.call('still there?')).text).toBe('new');
  expect((await report('again')).built).toBe(2);
});

test('a conversation survives the end of its worker', async () => {
  const database = `restart-${crypto.randomUUID()}`;
  const first = startWorker();
  await first.connect('kept', { database, replies: ['Noted.'] }).call('My name is 田中.');
  first.worker.terminate();
  const agent = startWorker().connect('kept', { database, replies: ['田中.'] });
  expect((await agent.messages()).map(textOf)).toEqual(['My name is 田中.', 'Noted.']);
  expect((await agent.call('What is my name?')).text).toBe('田中.');
});

test.for([
  ['no worker', () => connectAgent(undefined as never, { sessionId: 's' })],
  [
    'the address of a script instead of a worker',
    () => connectAgent('/worker.js' as never, { sessionId: 's' }),
  ],
  ['no options', () => connectAgent(startWorker().worker, undefined as never)],
  ['no session id', () => connectAgent(startWorker().worker, {} as never)],
  [
    'an unknown option',
    () => connectAgent(startWorker().worker, { sessionId: 's', timeoutMS: 1 } as never),
  ],
  ['an empty session id', () => connectAgent(startWorker().worker, { sessionId: '' })],
  ['a number as session id', () => connectAgent(startWorker().worker, { sessionId: 7 as never })],
  [
    'a tool in place of pageTools()',
    () => connectAgent(startWorker().worker, { sessionId: 's', page: [{ name: 'x' } as never] }),
  ],
  [
    'a time limit that is no number',
    () => connectAgent(startWorker().worker, { sessionId: 's', timeoutMs: '10s' as never }),
  ],
  [
    'an object instead of the list of page parts',
    () => connectAgent(startWorker().worker, { sessionId: 's', page: {} as never }),
  ],
] as const)('connectAgent() with %s throws CONFIGURATION', ([, connect]) => {
  const message = expect.stringMatching(
    /^connectAgent\(\)(:| has no option)|^The options of connectAgent\(\) must be|^The sessionId must be/,
  );
  expect(connect).toThrow(expect.objectContaining({ code: 'CONFIGURATION', message }));
});
