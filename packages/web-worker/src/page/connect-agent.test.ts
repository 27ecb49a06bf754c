import { AgentError, textOf, userMessage, type AgentEvent, type ModelDelta } from '@isoloop/core';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectAgent, type RemoteAgent } from '@isoloop/web-worker';
import { exposeAgent } from '@isoloop/web-worker/worker';
import { unpackEvents, type WireEvent } from '../wire/wire-events.ts';
import { initialCredits } from '../wire/protocol.ts';
import { startWorker } from '../../test-support/worker-under-test.ts';
import { fakeClock } from '../../../../test/clock/fake-clock.ts';

const words = (count: number): string =>
  Array.from({ length: count }, (_, index) => `w${index} `).join('');

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

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

test('a call fails if the agent factory throws, and the next call tries the factory again', async () => {
  const { connect } = startWorker();
  const agent = connect('factory', { failures: 1 });
  await expect(agent.call('hi')).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: 'The worker could not build its agent: no model',
  });
  expect((await agent.call('hi')).text).toBe('ok');
  const coded = connect('coded', { failures: 1, coded: true });
  await expect(coded.messages()).rejects.toMatchObject({
    code: 'CONFIGURATION',
    details: { field: 'model' },
  });
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

test('terminating the worker rejects all pending calls', async () => {
  const { worker, connect, report } = startWorker();
  const agent = connect('killed', { replies: [{ text: 'one ', hang: true }] });
  const stream = agent.stream('go');
  const reading = collect(stream);
  while ((await report('killed')).reads < 1);
  worker.terminate();
  const gone = { code: 'WORKER_TERMINATED' };
  await Promise.all([
    expect(reading).rejects.toMatchObject(gone),
    expect(agent.messages()).rejects.toMatchObject(gone),
  ]);
  await expect(stream.result).rejects.toMatchObject(gone);
  await expect(agent.call('more')).rejects.toMatchObject(gone);
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

test('calls fail at once with WORKER_FAILED if the worker script cannot be loaded', async () => {
  const worker = new Worker('/no-such-worker.js', { type: 'module' });
  onTestFinished(() => worker.terminate());
  const agent = connectAgent(worker, { sessionId: 's' });
  await expect(agent.call('hi')).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringContaining('did not load'),
  });
  await expect(agent.stream('hi').result).rejects.toMatchObject({ code: 'WORKER_FAILED' });
});

test('calls fail at once with the script’s error if the worker script throws on load', async () => {
  const worker = new Worker(new URL('../../test-support/throwing.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  worker.addEventListener('error', (event) => event.preventDefault());
  await expect(connectAgent(worker, { sessionId: 's' }).messages()).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringContaining('no wasm here'),
  });
});

const script = (source: string, options?: WorkerOptions) => (): Worker =>
  new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })), options);
const module = { type: 'module' } as const;

test.for([
  [
    'has a syntax error and is a module',
    script('const = 1;', module),
    'did not load. Its file may be missing',
  ],
  ['has a syntax error and is a classic script', script('const = 1;'), 'SyntaxError'],
  [
    'imports a missing module',
    script(`import '${location.origin}/no-such-module.js';`, module),
    'did not load',
  ],
  ['throws undefined', script('throw undefined;', module), 'undefined'],
  ['throws after a top-level await', script(`await 0; throw new Error('late');`, module), 'late'],
  ['is an HTML page', () => new Worker('/', module), 'did not load'],
] as const)('calls fail at once if the worker script %s', async ([, start, text]) => {
  const worker = start();
  worker.addEventListener('error', (event) => event.preventDefault());
  onTestFinished(() => worker.terminate());
  await expect(connectAgent(worker, { sessionId: 's' }).call('hi')).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringContaining(text),
  });
});

test('a factory that returns no agent fails the call with CONFIGURATION', async () => {
  const agent = startWorker().connect('none', { noAgent: true });
  await expect(agent.call('hi')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('returned no agent'),
  });
});

test.for([
  ['an agent', { name: 'a', sessionId: 's', memory: {} }],
  ['nothing', undefined],
  ['an empty object', {}],
  ['a number', 7],
] as const)('exposeAgent() with %s as factory throws CONFIGURATION', ([, given]) => {
  expect(() => exposeAgent(given as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('an error outside the agent, after the worker has started, breaks nothing', async () => {
  const { worker, connect } = startWorker();
  const agent = connect('stray', { replies: ['fine'] });
  await agent.messages();
  const error = new Promise((resolve) => {
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      resolve(event.message);
    });
  });
  worker.postMessage({ throw: 'stray error' });
  expect(await error).toContain('stray error');
  expect((await agent.call('hi')).text).toBe('fine');
});

test('calls to a worker that exposes no agent fail after the timeout', async () => {
  const worker = new Worker(new URL('../../test-support/silent.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const agent = connectAgent(worker, { sessionId: 's', timeoutMs: 30 });
  await expect(agent.call('hi')).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringMatching(/in 30 ms.*old: build it again.*exposeAgent\(\), or it failed/),
  });
});

test('a connection with `timeoutMs: Infinity` waits for its worker', async () => {
  const worker = new Worker(new URL('../../test-support/awaiting.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const agent = connectAgent(worker, { sessionId: 's', timeoutMs: Infinity });
  expect((await agent.call('hi')).text).toBe('better late');
});

test('a worker whose modules await at top level still connects', async () => {
  const worker = new Worker(new URL('../../test-support/awaiting.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  expect((await connectAgent(worker, { sessionId: 's' }).call('hi')).text).toBe('better late');
});

test('a second exposeAgent() throws, and calls fail with the message of that error', async () => {
  const worker = new Worker(new URL('../../test-support/second-expose.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  worker.addEventListener('error', (event) => event.preventDefault());
  await expect(connectAgent(worker, { sessionId: 's' }).call('hi')).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringContaining('exposeAgent() was already called in this worker'),
  });
});

test('without Web Locks, a call to a terminated worker fails because the worker is silent, and its run can be resumed', async () => {
  const clock = fakeClock();
  const options = `no-locks-${crypto.randomUUID()}`;
  const start = () => {
    const worker = new Worker(new URL('../../test-support/no-locks.ts', import.meta.url), {
      type: 'module',
    });
    onTestFinished(() => worker.terminate());
    const agent = connectAgent(worker, { sessionId: 's', options });
    // Without Web Locks, the page does not learn that the worker has ended.
    onTestFinished(() => agent.close());
    return { worker, agent };
  };
  const { worker, agent } = start();
  const stream = agent.stream('go');
  const events = stream[Symbol.asyncIterator]();
  while ((await events.next()).value?.type !== 'reasoning-chunk');
  const rest = collect({ [Symbol.asyncIterator]: () => events });
  const failed = vi.fn();
  rest.catch(failed);
  clock.advanceSync(2499);
  worker.terminate();
  await clock.advance(9999);
  expect(failed).not.toHaveBeenCalled();
  clock.advanceSync(2500);
  await expect(rest).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: 'The worker did not answer in 10000 ms.',
  });
  const resumed = await start().agent.chatTransport().reconnectToStream();
  const { value } = await resumed!.getReader().read();
  expect(value).toMatchObject({ type: 'start' });
});

test('a worker with another version of the protocol is refused with a code, and gets no request', async () => {
  const { port1, port2 } = new MessageChannel();
  const received: unknown[] = [];
  port2.addEventListener('message', ({ data }) => {
    received.push(data);
    port2.postMessage({ protocol: 'isoloop/2', type: 'hello' });
  });
  port2.start();
  port1.start();
  // Nobody waits for the time limit.
  const agent = connectAgent(port1 as unknown as Worker, { sessionId: 's', timeoutMs: Infinity });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringMatching(/speaks isoloop\/2, and the page isoloop\/4.*Build both again/),
  });
  expect(received).toEqual([{ protocol: 'isoloop/4', type: 'ping' }]);
  port2.close();
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
