import { AgentError, textOf, userMessage, type AgentEvent, type ModelDelta } from '@isoloop/core';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { RemoteAgent } from '@isoloop/web-worker';
import { unpackEvents, type WireEvent } from '../wire/wire-events.ts';
import { initialCredits } from '../wire/protocol.ts';
import { collect, startWorker } from '../../test-support/worker-under-test.ts';
import { startPageWorker } from '../../test-support/page-under-test.ts';

const words = (count: number): string =>
  Array.from({ length: count }, (_, index) => `w${index} `).join('');

/** Records the messages that arrive on all ports that are created after this call. */
function watchPorts(): readonly { readonly type?: string; readonly items?: readonly unknown[] }[] {
  const messages: { readonly type?: string; readonly items?: readonly unknown[] }[] = [];
  const start = MessagePort.prototype.start;
  const spy = vi.spyOn(MessagePort.prototype, 'start').mockImplementation(function watch(
    this: MessagePort,
  ) {
    this.addEventListener('message', ({ data }) => messages.push(data));
    start.call(this);
  });
  onTestFinished(() => spy.mockRestore());
  return messages;
}

test('call() answers with tools and keeps the conversation', async () => {
  const agent = startWorker().connect('a', {
    replies: [
      { toolCalls: [{ name: 'add', input: { a: 19, b: 23 } }] },
      'It is 42.',
      'You are welcome.',
    ],
  });
  expect(await agent.call('19 + 23?')).toMatchObject({
    text: 'It is 42.',
    reason: 'stop',
    toolsUsed: ['add'],
    iterations: 2,
  });
  expect((await agent.call(userMessage('thanks', { id: 'u2' }))).text).toBe('You are welcome.');
  const messages = await agent.messages();
  expect(messages.map((message) => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
    'assistant',
  ]);
  expect(messages[4]).toMatchObject({ id: 'u2', content: [{ type: 'text', text: 'thanks' }] });
});

test('a result from a worker says that the answer is incomplete', async () => {
  const deltas: readonly ModelDelta[] = [
    { type: 'text', id: 't', delta: 'Half' },
    { type: 'finish', reason: 'length' },
  ];
  const agent = startWorker().connect('incomplete', { replies: [{ deltas: [deltas] }] });
  const stream = agent.stream('Go.');
  const events = await collect(stream);
  const expected = { text: 'Half', reason: 'stop', incomplete: 'length' };
  expect(events.at(-1)).toMatchObject({ type: 'run-end', result: expected });
  expect(await stream.result).toMatchObject(expected);
});

test('stream() delivers all events of the agent in order', async () => {
  const agent = startWorker().connect('s', {
    replies: [{ text: 'I add.', toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] }, 'It is 3.'],
  });
  const stream = agent.stream('1 + 2?');
  const events = await collect(stream);
  expect(events.map((event) => event.type)).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'reasoning-chunk',
    'reasoning-chunk',
    'tool-input-chunk',
    'post-reasoning',
    'pre-acting',
    'acting-chunk',
    'post-acting',
    'pre-reasoning',
    'reasoning-chunk',
    'reasoning-chunk',
    'reasoning-chunk',
    'post-reasoning',
    'post-call',
    'run-end',
  ]);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.every((event) => event.sessionId === 's')).toBe(true);
  expect(await stream.result).toMatchObject({ text: 'It is 3.', toolsUsed: ['add'] });
});

test('a run starts when the page first reads it, or at once if detached; each reader of a detached run gets all its text', async () => {
  const { connect, report } = startWorker();
  const agent = connect('lazy', { replies: ['one two', 'three four'] });
  const lazy = agent.stream('go');
  await agent.messages();
  expect((await report('lazy')).requests).toBe(0);
  await collect(lazy);
  const detached = agent.stream('again', { detached: true });
  expect((await detached.result).text).toBe('three four');
  const text = (events: readonly AgentEvent[]): string =>
    events.map((event) => (event.type === 'reasoning-chunk' ? event.delta : '')).join('');
  expect(text(await collect(detached))).toBe('three four');
  expect(text(await collect(detached))).toBe('three four');
});

test('the worker sends all deltas of one macrotask in one message', async () => {
  const { connect } = startWorker();
  const agent = connect('batches', { replies: [words(2000)] });
  await agent.messages();
  const messages = watchPorts();
  const events = await collect(agent.stream('go'));
  const deltas = events.filter((event) => event.type === 'reasoning-chunk');
  expect(deltas.map((event) => event.delta).join('')).toBe(words(2000));
  const batches = messages.filter((message) => message.type === 'batch');
  expect(batches.flatMap(({ items }) => unpackEvents(items as readonly WireEvent[]))).toEqual(
    events,
  );
  expect(batches.length).toBeLessThanOrEqual(2 * Math.ceil(events.length / (initialCredits / 2)));
});

test('a page that stops reading pauses the model', async () => {
  const { connect, report } = startWorker();
  const agent = connect('slow', { replies: [words(1000)] });
  const iterator = agent.stream('go').batches()[Symbol.asyncIterator]();
  const first = await iterator.next();
  const ahead = await report('slow');
  expect(ahead.reads).toBeGreaterThan(0);
  expect(ahead.reads).toBeLessThan(initialCredits);
  expect(await report('slow')).toEqual(ahead);
  const events: AgentEvent[] = [...first.value];
  for (let read = await iterator.next(); !read.done; read = await iterator.next())
    events.push(...read.value);
  expect(events.filter((event) => event.type === 'reasoning-chunk')).toHaveLength(1000);
});

test('leaving the for-await loop aborts the run, keeps a valid log, and allows the next call', async () => {
  const { connect, report } = startWorker();
  const agent = connect('break', { replies: [words(1000), 'fresh'] });
  const stream = agent.stream('count');
  for await (const event of stream) if (event.type === 'reasoning-chunk') break;
  expect((await stream.result).reason).toBe('aborted');
  expect((await report('break')).reads).toBeLessThan(1000);
  expect((await agent.call('again')).text).toBe('fresh');
  expect((await agent.messages()).map((message) => message.role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
});

test('watch() begins with its call, so it has a run that ended before its first read', async () => {
  const agent = startWorker().connect('a', { replies: ['One.', 'Two.'] });
  const runs = agent.watch();
  await agent.call('first');
  const watched = (async () => {
    for await (const event of runs) if (event.type === 'run-end') return event.result.text;
    return undefined;
  })();
  await agent.call('second');
  expect(await watched).toBe('One.');
});

test('a stream of watch() that nobody reads ends with its connection without an unhandled error', async () => {
  const agent = startWorker().connect('a');
  const runs = agent.watch();
  agent.close();
  await expect(collect(runs)).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  await expect(collect(agent.watch())).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
});

test.for(['events', 'batches'] as const)(
  'a reader of %s that leaves watch() before its first read ends it in the worker',
  async (unit) => {
    const agent = startWorker().connect('a');
    const messages = watchPorts();
    const runs = agent.watch();
    const reader =
      unit === 'events' ? runs[Symbol.asyncIterator]() : runs.batches()[Symbol.asyncIterator]();
    expect(await reader.return!()).toEqual({ done: true, value: undefined });
    await expect.poll(() => messages.map(({ type }) => type)).toContain('end');
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  },
);

test('readable() streams batches of events, and cancel() of that stream stops the run', async () => {
  const agent = startWorker().connect('readable', { replies: [{ text: 'one two', hang: true }] });
  const stream = agent.stream('go');
  const reader = stream.readable().getReader();
  const first = await reader.read();
  expect(first.value?.[0]?.type).toBe('run-start');
  await reader.cancel();
  expect((await stream.result).reason).toBe('aborted');
});

test.for(['call', 'stream'] as const)(
  'a signal aborts a %s, and the log keeps the partial text',
  async (how) => {
    const { connect, report } = startWorker();
    const agent = connect('abort', {
      replies: [{ text: 'one two', toolCalls: [{ name: 'wait' }] }, 'fresh'],
    });
    const controller = new AbortController();
    const { signal } = controller;
    const stream = agent.stream('go', { signal });
    const result = how === 'call' ? agent.call('go', { signal }) : stream.result;
    while ((await report('abort')).reads < 3);
    controller.abort();
    expect((await result).reason).toBe('aborted');
    expect((await report('abort')).aborted).toBe(1);
    expect((await agent.messages()).map(textOf)).toEqual(['go', 'one two', '']);
    expect((await agent.call('on')).text).toBe('fresh');
  },
);

test('a call with an aborted signal sends no request to the model', async () => {
  const { connect, report } = startWorker();
  const agent = connect('early', {});
  const signal = AbortSignal.abort();
  expect((await agent.call('go', { signal })).reason).toBe('aborted');
  expect((await agent.stream('go', { signal }).result).reason).toBe('aborted');
  expect((await report('early')).requests).toBe(0);
});

test('a call right after an abort waits until the aborted run has ended', async () => {
  const { worker, connect, report } = startWorker();
  const agent = connect('swift', { gated: true, replies: [{ text: 'one ', hang: true }, 'next'] });
  const controller = new AbortController();
  const first = agent.call('go', { signal: controller.signal });
  while ((await report('swift')).reads < 1);
  controller.abort();
  const second = agent.call('and now?');
  expect((await report('swift')).requests).toBe(1);
  worker.postMessage({ open: true });
  expect((await second).text).toBe('next');
  expect((await first).reason).toBe('aborted');
});

test('interrupt() stops a run that was just requested, and its message becomes the answer', async () => {
  const agent = startWorker().connect('int', {
    replies: [{ text: 'one two', hang: true }, 'as you like'],
  });
  const result = agent.call('count');
  await agent.interrupt('Stopped by you.');
  expect(await result).toMatchObject({ reason: 'interrupted', text: 'Stopped by you.' });
  expect((await agent.call('go on')).text).toBe('as you like');
});

test.for(['call', 'stream'] as const)(
  'the error of a failed %s keeps its class, code and details',
  async (how) => {
    const agent = startWorker().connect('error', { rateLimited: true, replies: ['whole'] });
    const error = await (how === 'call' ? agent.call('go') : collect(agent.stream('go'))).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(AgentError);
    expect(error).toMatchObject({
      code: 'MODEL_RATE_LIMITED',
      message: 'slow down',
      retryable: true,
      details: { retryAfterMs: 1500 },
    });
    expect((await agent.call('again')).text).toBe('whole');
  },
);

test('a stream delivers the events before a failure, and throwOnError: false reaches the worker', async () => {
  const agent = startWorker().connect('soft', { rateLimited: true });
  const events = await collect(agent.stream('go', { throwOnError: false }));
  expect(events.slice(-2).map((event) => event.type)).toEqual(['error', 'run-end']);
  expect(events.at(-1)).toMatchObject({
    result: { reason: 'error', error: { code: 'MODEL_RATE_LIMITED' } },
  });
});

test('a second call on a busy agent fails with AGENT_BUSY', async () => {
  const { connect } = startWorker();
  const agent = connect('busy', { replies: [{ hang: true }] });
  const first = agent.stream('one');
  const reading = collect(first);
  await expect(agent.call('two')).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  await expect(agent.clear()).rejects.toMatchObject({ code: 'AGENT_BUSY' });
  await agent.interrupt();
  await reading;
});

test('clear() deletes the conversation', async () => {
  const agent = startWorker().connect('clear', {});
  await agent.call('hi');
  await agent.clear();
  expect(await agent.messages()).toEqual([]);
});

test('an input that cannot be cloned fails with INVALID_INPUT; a tool result that cannot be cloned is an error for the model', async () => {
  const agent = startWorker().connect('clone', {
    replies: [{ toolCalls: [{ name: 'odd' }] }, 'fine'],
  });
  const input = userMessage('x', { metadata: { f: (() => {}) as unknown as string } });
  await expect(agent.call(input)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(agent.stream(input).result).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect((await agent.call('go')).text).toBe('fine');
  expect((await agent.messages())[2]?.content).toMatchObject([{ name: 'odd', state: 'error' }]);
  const refused = startWorker().connect('clone', { replies: (() => {}) as unknown as string[] });
  await expect(refused.call('hi')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('close() rejects pending calls and aborts them in the worker, which keeps running', async () => {
  const { connect, report } = startWorker();
  const agent = connect('close', { replies: [{ toolCalls: [{ name: 'wait' }] }] });
  const other = connect('other');
  const call = agent.call('go');
  while ((await report('close')).reads < 1);
  agent.close();
  await expect(call).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  await expect(agent.call('more')).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  await expect(agent.stream('more').result).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  expect((await other.call('hi')).text).toBe('ok');
  expect((await report('other')).aborted).toBe(1);
});

test('close() aborts the connection’s own runs, also in a shared session', async () => {
  const { connect, report } = startWorker();
  const [one, two] = [
    connect('shared', { replies: [{ toolCalls: [{ name: 'wait' }] }, 'free'] }),
    connect('shared'),
  ];
  const call = one.call('go');
  while ((await report('shared')).reads < 1);
  one.close();
  await expect(call).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
  while ((await report('shared')).aborted < 1);
  expect((await two.call('hi')).text).toBe('free');
});

test('terminate() ends the worker for all its connections', async () => {
  const { connect } = startWorker();
  const [agent, other] = [
    connect('t', { replies: [{ hang: true }] }),
    connect('u', { replies: [{ hang: true }] }),
  ];
  const calls = [agent.call('go'), other.call('go')];
  await other.messages();
  agent.terminate();
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
});

test('abort() ends only the runs of its own connection, and the next call is accepted', async () => {
  const { connect, report } = startWorker();
  const agent = connect('mine', {
    replies: [
      { text: 'one two', toolCalls: [{ name: 'wait' }] },
      'fresh',
      { text: 'four', hang: true },
    ],
  });
  const other = connect('other', { replies: [{ text: 'three', hang: true }] });
  agent.abort();
  const [call, theirs] = [agent.call('go'), other.call('go')];
  while ((await report('mine')).reads < 3);
  agent.abort();
  const next = agent.call('on');
  expect(await call).toMatchObject({ reason: 'aborted' });
  expect((await next).text).toBe('fresh');
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'one two', '', 'on', 'fresh']);
  expect((await report('mine')).aborted).toBe(1);
  const stream = agent.stream('over');
  for await (const event of stream) if (event.type === 'reasoning-chunk') agent.abort();
  expect((await stream.result).reason).toBe('aborted');
  await other.interrupt('Enough.');
  expect((await theirs).text).toBe('Enough.');
  agent.close();
  agent.abort();
});

test.for([
  ['call() with null as options', (agent: RemoteAgent) => agent.call('hi', null as never)],
  ['call() with text as options', (agent: RemoteAgent) => agent.call('hi', 'fast' as never)],
  [
    'call() with an invalid signal',
    (agent: RemoteAgent) => agent.call('hi', { signal: {} as never }),
  ],
  [
    'stream() with null as options',
    (agent: RemoteAgent) => agent.stream('hi', null as never).result,
  ],
  [
    'stream() with an invalid signal',
    (agent: RemoteAgent) => agent.stream('hi', { signal: {} as never }).result,
  ],
  ['call() with a number as input', (agent: RemoteAgent) => agent.call(7 as never)],
  ['stream() with a number as input', (agent: RemoteAgent) => agent.stream(7 as never).result],
  [
    'call() with an invalid option',
    (agent: RemoteAgent) => agent.call('hi', { allowTools: 'all' as never }),
  ],
  [
    'interrupt() with an unknown mode',
    (agent: RemoteAgent) => agent.interrupt({ mode: 'hard' } as never),
  ],
  ['interrupt() with null', (agent: RemoteAgent) => agent.interrupt(null as never)],
  [
    'decide() with an unknown decision type',
    (agent: RemoteAgent) => agent.decide({ type: 'perhaps' } as never),
  ],
] as const)('%s fails with INVALID_INPUT, and the agent still works', async ([, misuse]) => {
  const agent = startWorker().connect('misused');
  const error = await (async () => misuse(agent))().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ code: 'INVALID_INPUT' });
  expect((await agent.call('hi')).text).toBe('ok');
});

test('a message to a busy agent passes the agent’s guards first, and a rejection keeps its code', async () => {
  const { worker, connect } = startPageWorker();
  const agent = connect({ replies: ['one', 'two'], gated: true, guarded: true });
  const first = agent.call('first');
  const rejected = { code: 'GUARD_REJECTED', message: 'Not here.', details: { text: 'bad' } };
  expect(await agent.call('bad')).toMatchObject({ reason: 'rejected', error: rejected });
  const second = agent.call('long story');
  expect(await agent.interrupt({ mode: 'inject', messages: 'bad' })).toBe(true);
  expect(await agent.interrupt({ mode: 'inject', messages: 'more' })).toBe(true);
  worker.postMessage({ open: true });
  const ends = await Promise.all([first, second]);
  expect(ends.map(({ text }) => text)).toEqual(['two', 'two']);
  const texts = (await agent.messages()).map(textOf);
  expect(texts).toEqual(['first', 'one', 'short', 'more', 'two']);
});

test('resume() continues from the log after a pause', async () => {
  const agent = startPageWorker().connect({ replies: [{ text: 'one ', hang: true }, 'two'] });
  const stream = agent.stream('go');
  for await (const event of stream)
    if (event.type === 'reasoning-chunk') await agent.interrupt({ mode: 'pause' });
  expect((await stream.result).reason).toBe('suspended');
  expect((await agent.resume()).text).toBe('two');
});
