import { expect, onTestFinished, test } from 'vitest';
import { connectAgent } from '@isoloop/web-worker';
import { exposeAgent } from '@isoloop/web-worker/worker';
import { startWorker } from '../../test-support/worker-under-test.ts';
import { startPageWorker } from '../../test-support/page-under-test.ts';

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

test('an unknown agent name fails with CONFIGURATION', async () => {
  const { connect } = startPageWorker();
  await expect(connect({}, { agent: 'nobody' }).call('go')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: 'The worker has no agent "nobody": main, browser.',
  });
  await expect(connect({}, { agent: 'toString' }).messages()).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
});
