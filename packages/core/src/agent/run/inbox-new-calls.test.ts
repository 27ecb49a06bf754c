import { expect, test } from 'vitest';
import { gate } from '@test/support/scripted-agent.ts';
import type { Middleware } from '../middleware.ts';
import { AgentError } from '../../error/agent-error.ts';
import { textOf } from '../../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { Agent } from '../agent.ts';

function setUp(replies: readonly ScriptedReply[], middleware: Middleware) {
  const model = new ScriptedModel(replies);
  const agent = new Agent({ name: 'a', model, whenBusy: 'queue', use: [middleware] });
  return { agent, model };
}

/** Middleware that gives new agent calls the result of the running one, without their messages. */
const sharing: Middleware = {
  wrapSettle: async (input, next, run) => {
    const made = await next(input);
    run.inbox.handle({
      join: (call) =>
        call.input.messages.some((message) => textOf(message) === 'wait')
          ? undefined
          : call.admit().then(() => call.result),
    });
    return made;
  },
};

test.each(['before the run has settled its input', 'while the model is asked'])(
  'middleware takes a new agent call that comes %s',
  async (when) => {
    const { open, wait } = gate();
    const { agent, model } = setUp([[{ wait, text: 'one' }], 'two'], sharing);
    const first = agent.call('first');
    if (when.startsWith('while')) await expect.poll(() => model.requests.length).toBe(1);
    const second = agent.call('second');
    const third = agent.call('wait');
    open();
    expect(await second).toBe(await first);
    expect((await third).text).toBe('two');
    expect((await agent.messages()).map(textOf)).toEqual(['first', 'one', 'wait', 'two']);
  },
);

test('middleware refuses a new agent call with an exception, and the running one continues', async () => {
  const { open, wait } = gate();
  const refusing: Middleware = {
    wrapSettle: async (input, next, run) => {
      run.inbox.handle({
        join: async () => {
          throw new AgentError('GUARD_REJECTED', 'Not now.');
        },
      });
      return next(input);
    },
  };
  const { agent } = setUp([[{ wait, text: 'one' }], 'two'], refusing);
  const first = agent.call('first');
  expect(await agent.call('second')).toMatchObject({ reason: 'rejected', text: 'Not now.' });
  open();
  expect((await first).text).toBe('one');
  expect((await agent.call('next')).text).toBe('two');
});

test('an aborted call does not wait for the middleware of the running one', async () => {
  const { open, wait } = gate();
  const { agent } = setUp([[{ wait, text: 'one' }]], {});
  const first = agent.call('first');
  const controller = new AbortController();
  const second = agent.call('second', { signal: controller.signal });
  controller.abort();
  expect((await second).reason).toBe('aborted');
  open();
  expect((await first).text).toBe('one');
});

test('a call that waited gets the input of its `wrapRun`, even if `wrapInput` admitted the first one early', async () => {
  const admitted: string[] = [];
  const { open, wait } = gate();
  const loud: Middleware = {
    wrapRun: (input, next) => {
      const messages = input.messages.map((message) => ({
        ...message,
        content: [{ type: 'text' as const, text: `${textOf(message)}!` }],
      }));
      return next({ ...input, messages });
    },
    wrapInput: (input, next) => {
      admitted.push(...input.messages.map(textOf));
      return next(input);
    },
    wrapSettle: async (input, next, run) => {
      const made = await next(input);
      // It looks at the input of the new call, and lets the call wait.
      run.inbox.handle({ join: (call) => call.admit().then(() => undefined) });
      return made;
    },
  };
  const { agent } = setUp([[{ wait, text: 'one' }], 'two'], loud);
  const first = agent.call('first');
  const second = agent.call('second');
  await expect.poll(() => admitted).toEqual(['first!', 'second']);
  open();
  await Promise.all([first, second]);
  expect(admitted).toEqual(['first!', 'second', 'second!']);
  expect((await agent.messages()).map(textOf)).toEqual(['first!', 'one', 'second!', 'two']);
});
