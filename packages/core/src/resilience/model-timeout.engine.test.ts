import { beforeEach, expect, test } from 'vitest';
import { textOf } from '../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { modelTimeout, type ModelTimeoutOptions } from './model-timeout.ts';
import { retry } from './retry.ts';
import { wrapModel } from '../model/wrap-model.ts';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

/** Creates a reply step that emits its text after this many milliseconds. */
const after = (ms: number, text: string) => ({ wait: () => pass(ms), text });
async function pass(ms: number): Promise<void> {
  clock.advanceSync(ms);
}

async function read(
  model: ChatModel,
  each: () => void = () => {},
  signal = new AbortController().signal,
): Promise<string> {
  let text = '';
  try {
    for await (const deltas of model.stream({ messages: [], tools: [] }, { signal })) {
      for (const delta of deltas) if (delta.type === 'text') text += delta.delta;
      each();
    }
  } catch (error) {
    text += `<${(error as Error).message}>`;
  }
  expect(clock.pendingTimers()).toBe(0);
  return text;
}

test.each<[string, ScriptedReply, ModelTimeoutOptions, string]>([
  [
    'silence before the first delta',
    [after(1001, 'late')],
    { firstDeltaMs: 1000 },
    '<The model took longer than 1000 ms>',
  ],
  ['a first delta in time', [after(999, 'in time')], { firstDeltaMs: 1000 }, 'in time'],
  [
    'no limit for silence after the first delta',
    ['ok', after(5000, 'late')].map(step),
    { firstDeltaMs: 1000 },
    'oklate',
  ],
  [
    'silence within a reply',
    ['ok', after(1001, 'late')].map(step),
    { silenceMs: 1000 },
    'ok<The model took longer than 1000 ms>',
  ],
  [
    'silence before the first delta is not silence within the reply',
    [after(5000, 'late')],
    { silenceMs: 1000 },
    'late',
  ],
  [
    'the whole reply',
    [after(600, 'a'), after(600, 'b')],
    { totalMs: 1000 },
    'a<The model took longer than 1000 ms>',
  ],
  ['the whole reply in time', [after(600, 'a'), after(300, 'b')], { totalMs: 1000 }, 'ab'],
  ['no time at all', ['never'].map(step), { totalMs: 0 }, '<The model took longer than 0 ms>'],
])('modelTimeout() limits the right time: %s', async (_what, reply, options, expected) => {
  expect(await read(wrapModel(new ScriptedModel([reply]), modelTimeout(options)))).toBe(expected);
});

function step(part: string | ReturnType<typeof after>) {
  return typeof part === 'string' ? { text: part } : part;
}

test('the time between reads by the reader does not count', async () => {
  const model = wrapModel(
    new ScriptedModel(['one two three']),
    modelTimeout({ firstDeltaMs: 1000, silenceMs: 1000, totalMs: 1000 }),
  );
  expect(await read(model, () => void clock.advanceSync(5000))).toBe('one two three');
});

test('modelTimeout() aborts the signal of a model, and does not wait if the model ignores the signal', async () => {
  const signals: AbortSignal[] = [];
  const deaf: ChatModel = {
    provider: 'x',
    modelId: 'x',
    features: { tools: true, media: [] },
    stream(_request, { signal }) {
      signals.push(signal);
      const never = (): Promise<never> => new Promise(() => void clock.advanceSync(1000));
      return { [Symbol.asyncIterator]: () => ({ next: never, return: never }) };
    },
  };
  expect(await read(wrapModel(deaf, modelTimeout({ totalMs: 1000 })))).toBe(
    '<The model took longer than 1000 ms>',
  );
  expect(signals[0]!.reason).toMatchObject({ code: 'MODEL_TIMEOUT', retryable: true });
});

test('if an abort comes before the timeout, the abort reason is the error', async () => {
  const controller = new AbortController();
  const model = wrapModel(new ScriptedModel([{ hang: true }]), modelTimeout({ totalMs: 1000 }));
  const reading = read(model, undefined, controller.signal);
  controller.abort(new Error('enough'));
  expect(await reading).toBe('<enough>');
});

test('inside retry(), each attempt has its own time limit', async () => {
  const inner = new ScriptedModel([[after(1001, 'late')], [after(999, 'in time')]]);
  const model = wrapModel(inner, retry({ sleep: async () => {} }), modelTimeout({ totalMs: 1000 }));
  expect(await read(model)).toBe('in time');
});

test('outside of retry(), the time limit applies to all attempts and waits together', async () => {
  const inner = new ScriptedModel([{ error: { status: 500 } }, 'never']);
  const sleep = (): Promise<never> => new Promise(() => void clock.advanceSync(1000));
  expect(await read(wrapModel(inner, modelTimeout({ totalMs: 1000 }), retry({ sleep })))).toBe(
    '<The model took longer than 1000 ms>',
  );
  expect(inner.requests).toHaveLength(1);
});

test('a model timeout fails the agent’s call, and the next call works', async () => {
  const { agent } = scriptedAgent([[{ text: 'Half ' }, after(1001, 'late')], 'Fine'], {
    use: [modelTimeout({ silenceMs: 1000 })],
  });
  await expect(agent.call('Hi')).rejects.toMatchObject({ code: 'MODEL_TIMEOUT', retryable: true });
  expect(await agent.call()).toMatchObject({ text: 'Fine' });
  expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'Fine']);
});

test.each([{}, { totalMs: -1 }, { firstDeltaMs: '5' }, { silenceMs: Number.NaN }, undefined])(
  'modelTimeout() rejects the options %o',
  (options) => {
    expect(() => modelTimeout(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);
