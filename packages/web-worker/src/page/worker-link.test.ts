import { expect, onTestFinished, test, vi } from 'vitest';
import { connectAgent } from '@isoloop/web-worker';
import { collect, startWorker } from '../../test-support/worker-under-test.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';
import { startPageWorker } from '../../test-support/page-under-test.ts';

const script = (source: string, options?: WorkerOptions) => (): Worker =>
  new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })), options);

const module = { type: 'module' } as const;

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

test('pending calls fail when their worker hangs in an endless loop; an idle worker is not reported', async () => {
  const clock = fakeClock();
  const { worker, connect } = startPageWorker();
  const agent = connect({ replies: [{ hang: true }] }, { timeoutMs: 10_000 });
  await agent.messages();
  clock.advanceSync(60_000);
  const call = agent.call('go');
  for (let quarter = 0; quarter < 12; quarter++) {
    clock.advanceSync(2500);
    await agent.messages();
  }
  worker.postMessage({ spin: true });
  clock.advanceSync(12_500);
  await expect(call).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: 'The worker did not answer in 10000 ms.',
  });
  await expect(agent.messages()).rejects.toMatchObject({ code: 'WORKER_FAILED' });
});
