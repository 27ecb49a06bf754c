import { expect, test } from 'vitest';
import { Hang } from '@test/support/hang.ts';
import type { AgentEvent } from '../../event/agent-event.ts';
import { textOf } from '../../message/msg.ts';
import { ScriptedModel } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import { Agent } from '../agent.ts';
import type { InnerStep, Middleware } from '../middleware.ts';

/** What a wrapper does while its `next` runs. `other` settles meanwhile. */
type Ending = (inner: Promise<unknown>, other: Promise<unknown>) => Promise<unknown>;

/** A wrapper of each kind, with an event inside its step at which a hook hangs. */
const wrappers: readonly (readonly [keyof Middleware & `wrap${string}`, AgentEvent['type']])[] = [
  ['wrapRun', 'post-reasoning'],
  ['wrapRun', 'pre-acting'],
  ['wrapRequest', 'pre-reasoning'],
  ['wrapReply', 'post-reasoning'],
  ['wrapRound', 'pre-acting'],
];

/** A value that every wrapper may return. */
const early = { kind: 'custom', reason: 'stop', text: 'Early.', messages: [], tools: [] };

function setUp(key: string, end: Ending, other: () => unknown, inner: (hang: Hang) => Middleware) {
  const hang = new Hang();
  const runs: string[] = [];
  const pay = tool({
    name: 'pay',
    description: '',
    input: {},
    execute: (_input, { toolUseId }) => void runs.push(toolUseId),
  });
  const model = new ScriptedModel(
    Array.from({ length: 9 }, () => ({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user');
      return asked && textOf(asked) === 'again' ? 'Next.' : { toolCalls: [{ name: 'pay' }] };
    }),
  );
  const hasty: Middleware = {
    name: 'hasty',
    [key]: (given: unknown, next: InnerStep<unknown, unknown>) =>
      hang.on ? end(next(given), hang.reached.then(other)) : next(given),
  };
  const agent = new Agent({ name: 'a', model, tools: [pay], use: [hasty, inner(hang)] });
  return { agent, model, runs, hang };
}

const inHook =
  (type: AgentEvent['type']) =>
  (hang: Hang): Middleware => ({ on: { [type]: () => hang.wait() } });

/** Lets the code go on that hung in an ended run. Returns what the agent does from then on. */
async function afterEnd({ agent, model, runs, hang }: ReturnType<typeof setUp>) {
  expect(agent.busy).toBe(false);
  hang.on = false;
  const log = await agent.messages();
  const requests = model.requests.length;
  hang.settleLate('resolves');
  const { text } = await agent.call('again');
  return {
    text,
    requests: model.requests.length - requests,
    runs,
    texts: (await agent.messages()).slice(log.length).map(textOf),
  };
}

/** Only the next agent call asks the model and writes to the log, and no tool runs. */
const quiet = { text: 'Next.', requests: 1, runs: [], texts: ['again', 'Next.'] };

const fails = (): never => {
  throw new Error('prefetch failed');
};

test.each(wrappers)(
  'if what %s waits for beside its `next` fails, the agent call fails, and nothing runs on inside (%s)',
  async (key, type) => {
    const all: Ending = (inner, other) => Promise.all([inner, other]);
    const set = setUp(key, all, fails, inHook(type));
    await expect(set.agent.call('go')).rejects.toThrow('prefetch failed');
    expect(await afterEnd(set)).toEqual(quiet);
  },
);

const endings: readonly (readonly [string, Ending])[] = [
  ['wins a race against', (inner, other) => Promise.race([inner, other])],
  ['does not wait for', async (inner, other) => other],
];

test.each(wrappers.flatMap((one) => endings.map((ending) => [...one, ...ending] as const)))(
  '%s (with a hook of %s) that %s its `next` makes the agent call fail, and nothing runs on inside',
  async (key, type, _name, end) => {
    const set = setUp(key, end, () => early, inHook(type));
    await expect(set.agent.call('go')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: `${key}() of "hasty" must wait for next().`,
    });
    expect(await afterEnd(set)).toEqual(quiet);
  },
);

test.each(['wrapRun', 'wrapInput', 'wrapSettle', 'wrapRequest', 'wrapReply', 'wrapRound'] as const)(
  'a wrapper that hangs inside a %s that ended before its `next` does not keep the agent call from its end',
  async (key) => {
    const inWrapper = (hang: Hang): Middleware => ({
      [key]: async (given: unknown, next: InnerStep<unknown, unknown>) => {
        await hang.wait();
        return next(given);
      },
    });
    const race: Ending = (inner, other) => Promise.race([inner, other]);
    const set = setUp(key, race, () => early, inWrapper);
    await expect(set.agent.call('go')).rejects.toMatchObject({ code: 'CONFIGURATION' });
    expect(await afterEnd(set)).toEqual(quiet);
  },
);

test.each(wrappers)(
  'after an abort, a %s that ends before its `next` ends after it, and the call is aborted (%s)',
  async (key, type) => {
    const controller = new AbortController();
    const set = setUp(
      key,
      (inner, other) => Promise.race([inner, other]),
      () => {
        controller.abort();
        return early;
      },
      inHook(type),
    );
    const { reason } = await set.agent.call('go', { signal: controller.signal });
    expect(reason).toBe('aborted');
    expect(await afterEnd(set)).toEqual(quiet);
  },
);

test('a wrapper may wait for other work beside its `next`, if it ends after its `next`', async () => {
  const settling: Middleware = {
    wrapReply: (reply, next) => Promise.race([next(reply), new Promise<never>(() => {})]),
    wrapRun: async (input, next) => {
      const [result] = await Promise.all([next(input), Promise.resolve()]);
      return { ...result, text: 'Mine.' };
    },
    wrapRequest: (draft, next) => Promise.any([next(draft), new Promise<never>(() => {})]),
  };
  const model = new ScriptedModel(['Seen.']);
  const agent = new Agent({ name: 'a', model, use: [settling] });
  expect(await agent.call('go')).toMatchObject({ reason: 'stop', text: 'Mine.' });
});

test.for(['wrapReply', 'wrapRound'] as const)(
  'a %s that calls its `next` after its end makes the agent call fail',
  async (key) => {
    let late: (() => Promise<unknown>) | undefined;
    const hasty: Middleware = {
      name: 'hasty',
      [key]: async (value: unknown, next: InnerStep<unknown, unknown>) => {
        if (late) await late();
        late = () => next(value);
        return { to: key === 'wrapRound' ? 'tools' : 'model' };
      },
    };
    const pay = tool({ name: 'pay', description: '', input: {}, execute: () => 'paid' });
    const reply = { toolCalls: [{ name: 'pay' }] };
    const model = new ScriptedModel([reply, reply]);
    const agent = new Agent({ name: 'a', model, tools: [pay], use: [hasty] });
    await expect(agent.call('go')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: `${key}() of "hasty" may call next() once.`,
    });
  },
);
