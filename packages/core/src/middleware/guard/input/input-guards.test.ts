import { expect, test, vi } from 'vitest';
import { AgentError } from '../../../error/agent-error.ts';
import { ReActAgent } from '../../../preset/react-agent.ts';
import { toolMessage, userMessage } from '../../../message/create-message.ts';
import { textOf } from '../../../message/message-text.ts';
import type { Msg } from '../../../message/msg.ts';
import { ScriptedModel } from '../../../testing/scripted-model.ts';
import type { GuardOptions } from '../guard-options.ts';
import { checkStages } from './check-stages.ts';
import { inputGuards } from './input-guards.ts';
import { inputLength } from './input-length.ts';
import type { GuardContext, InputStage } from './input-stage.ts';
import { maskPii } from '../pii/mask-pii.ts';
import { classify, permission } from './own-stage.ts';

const context: GuardContext = {
  runId: 'r',
  agentPath: ['a'],
  sessionId: 's',
  userId: 'u',
  signal: new AbortController().signal,
};
const input = [userMessage('my secret is hunter2')];
const silent = { onError: () => {} };

function guard(
  stages: readonly InputStage[],
  messages: readonly Msg[] = input,
  options: GuardOptions = silent,
) {
  return checkStages(stages, options)(messages, context);
}

async function rejectionOf(judging: Promise<readonly Msg[]>) {
  const thrown: unknown = await judging.catch((error: unknown) => error);
  if (!AgentError.is(thrown)) throw new Error('It passed.');
  return thrown.toJSON();
}

const pass: InputStage = { name: 'pass', check: (given) => given };

test('each stage gets the messages that the previous stage returned, and the first rejection ends the check', async () => {
  const seen: string[] = [];
  const say = (name: string): InputStage => ({
    name,
    check: (given) => {
      seen.push(`${name}: ${textOf(given[0]!)}`);
      return [userMessage(`${textOf(given[0]!)} ${name}`)];
    },
  });
  const no: InputStage = {
    name: 'no',
    check: () => ({ category: 'OFF_TOPIC', details: { topic: 3, stage: 'forged' } }),
  };
  const judging = guard([say('a'), say('b'), no, say('c')], [userMessage('x')]);
  expect(await rejectionOf(judging)).toMatchObject({
    code: 'GUARD_REJECTED',
    message: 'The assistant does not help with this topic.',
    details: { category: 'OFF_TOPIC', stage: 'no', topic: 3 },
  });
  expect(seen).toEqual(['a: x', 'b: x a']);
  expect(await guard([pass, pass])).toBe(input);
});

const rubbish: readonly unknown[] = [
  undefined,
  null,
  true,
  'ok',
  {},
  { category: 'NEW' },
  { category: 'OFF_TOPIC', message: 5 },
  { category: 'OFF_TOPIC', details: 'x' },
  [],
  [{}],
  ['text'],
];

test.each(rubbish.map((value) => [value]))(
  'a stage that returns %o rejects the input, and the user sees nothing of that value',
  async (value) => {
    const onError = vi.fn();
    const error = await rejectionOf(
      guard([{ name: 'bad', check: () => value as readonly Msg[] }, pass], input, {
        onError,
      }),
    );
    expect(error).toMatchObject({
      message: 'Security check failed',
      details: { category: 'SYSTEM_ERROR', stage: 'bad' },
    });
    expect(JSON.stringify(error)).not.toContain('hunter2');
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.any(Error), 'bad');
  },
);

test('a stage that throws rejects the input, even if `onError` throws too', async () => {
  const bad: InputStage = {
    name: 'bad',
    check: () => {
      throw new TypeError('hunter2');
    },
  };
  expect(
    await rejectionOf(guard([{ ...bad, check: async () => bad.check(input, context) }])),
  ).toMatchObject({
    message: 'Security check failed',
  });
  const onError = (): void => {
    throw new Error('listener');
  };
  expect(await rejectionOf(guard([bad], input, { onError }))).toMatchObject({
    details: { category: 'SYSTEM_ERROR' },
  });
});

test('rejection messages use the locale or the custom texts', async () => {
  const no: InputStage = { name: 'no', check: () => ({ category: 'UNAUTHORIZED' }) };
  expect((await rejectionOf(guard([no], input, { locale: 'ko' }))).message).toBe(
    '이 작업을 할 권한이 없습니다.',
  );
  const messages = { 'GUARD_REJECTED:UNAUTHORIZED': 'Nur für Mitglieder.' };
  expect((await rejectionOf(guard([no], input, { messages }))).message).toBe('Nur für Mitglieder.');
  const own: InputStage = {
    name: 'own',
    check: () => ({ category: 'UNAUTHORIZED', message: 'Ask Ann.' }),
  };
  expect((await rejectionOf(guard([own]))).message).toBe('Ask Ann.');
});

test('with input guards, call() returns a rejection, stores no input, and the next call works', async () => {
  const model = new ScriptedModel(['fine']);
  const agent = new ReActAgent({
    name: 'a',
    model,
    use: [inputGuards([inputLength({ max: 5 })])],
  });
  const result = await agent.call('too long');
  expect(result).toMatchObject({
    reason: 'rejected',
    error: { code: 'GUARD_REJECTED', details: { length: 8, min: 1, max: 5 } },
  });
  expect(await agent.messages()).toEqual([]);
  expect(await agent.call('ok')).toMatchObject({ reason: 'stop', text: 'fine' });
});

test('an abort ends the wait for a stage that never answers', async () => {
  const controller = new AbortController();
  const hang: InputStage = {
    name: 'hang',
    check: () => (controller.abort(), new Promise<never>(() => {})),
  };
  const onError = vi.fn();
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([]),
    use: [inputGuards([hang], { onError })],
  });
  expect(await agent.call('Hi', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
  expect(await agent.messages()).toEqual([]);
  expect(onError).not.toHaveBeenCalled();
});

test('each stage gets the usage of each call, even of a failed call, and a failing `after` does not change the result', async () => {
  const after = vi.fn().mockRejectedValueOnce(new Error('down')).mockResolvedValue(undefined);
  const onError = vi.fn();
  const model = new ScriptedModel(['one', { error: new Error('broken') }], { modelId: 'm' });
  const agent = new ReActAgent({
    name: 'a',
    model,
    userId: 'ann',
    use: [inputGuards([{ ...pass, after }], { onError })],
  });
  expect(await agent.call('Hi')).toMatchObject({ text: 'one' });
  await expect(agent.call('Hi')).rejects.toThrow('broken');
  expect(after.mock.calls.map(([call, about]) => [call.usage, call.modelId, about.userId])).toEqual(
    [
      [{ inputTokens: 10, outputTokens: 5 }, 'm', 'ann'],
      [{ inputTokens: 0, outputTokens: 0 }, 'm', 'ann'],
    ],
  );
  expect(onError).toHaveBeenCalledExactlyOnceWith(expect.any(Error), 'pass');
});

test('inputLength() counts trimmed text, accepts media without text, and counts tool results', async () => {
  const stage = inputLength({ min: 2, max: 4 });
  const verdict = (text: string) => stage.check([userMessage(text)], context);
  for (const text of ['ab', ' abcd\n', '\ud800\udc00']) expect(verdict(text)).toHaveLength(1);
  for (const text of ['', ' a ', 'abcde', '\u0000\u0000\u0000\u0000\u0000']) {
    expect(verdict(text)).toMatchObject({ category: 'INVALID_INPUT', details: { min: 2, max: 4 } });
  }
  const image = userMessage([
    { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } },
  ]);
  expect(stage.check([image], context)).toEqual([image]);
  const result = toolMessage({
    type: 'tool_result',
    toolUseId: '1',
    name: 't',
    output: 'a long result',
    state: 'success',
  });
  expect(stage.check([], context)).toEqual([]);
  expect(stage.check([result], context)).toMatchObject({ category: 'INVALID_INPUT' });
  expect(inputLength().check([userMessage('x'.repeat(5000))], context)).toHaveLength(1);
  expect(inputLength().check([userMessage('x'.repeat(5001))], context)).toMatchObject({
    category: 'INVALID_INPUT',
  });
});

test('classify() and permission() accept the input only if the callback explicitly allows the input', async () => {
  const by = (value: unknown) => classify(() => value as 'pass');
  expect(await guard([by('pass')])).toBe(input);
  expect((await rejectionOf(guard([by('OFF_TOPIC')]))).details).toEqual({
    category: 'OFF_TOPIC',
    stage: 'classify',
  });
  expect(
    (await rejectionOf(guard([by({ category: 'INVALID_INPUT', message: 'No.' })]))).message,
  ).toBe('No.');
  for (const value of ['yes', '', true, undefined, {}]) {
    expect((await rejectionOf(guard([by(value)]))).details).toMatchObject({
      category: 'SYSTEM_ERROR',
    });
  }
  const seen: unknown[] = [];
  const read = classify((text, { userId }) => (seen.push(text, userId), 'pass'), { name: 'topic' });
  await guard([read]);
  await guard([read], []);
  expect(seen).toEqual(['my secret is hunter2', 'u']);

  const allow = (value: unknown) => permission(() => value as boolean);
  expect(await guard([allow(true)])).toBe(input);
  expect((await rejectionOf(guard([allow(false)]))).details).toMatchObject({
    category: 'UNAUTHORIZED',
    stage: 'permission',
  });
  for (const value of [1, 'yes', undefined]) {
    expect((await rejectionOf(guard([allow(value)]))).details).toMatchObject({
      category: 'SYSTEM_ERROR',
    });
  }
});

test('maskPii() as an input guard masks personal data before it is stored, also in tool results', async () => {
  const model = new ScriptedModel(['noted']);
  const agent = new ReActAgent({ name: 'a', model, use: [inputGuards([maskPii()])] });
  await agent.call('I am ann@example.test, card 4111 1111 1111 1111.');
  expect((await agent.messages()).map(textOf)).toEqual(['I am [EMAIL], card [CARD].', 'noted']);
  const result = toolMessage({
    type: 'tool_result',
    toolUseId: '1',
    name: 't',
    output: [{ type: 'text', text: 'bob@example.test' }],
    state: 'success',
  });
  expect(JSON.stringify(await guard([maskPii()], [result]))).toContain('"text":"[EMAIL]"');
  expect(
    (await rejectionOf(guard([maskPii({ strategy: 'block' })], [result]))).details,
  ).toMatchObject({ category: 'INVALID_INPUT' });
  expect(await guard([maskPii()])).toStrictEqual(input);
});

test.each<[string, () => unknown]>([
  ['inputGuards(): stages', () => inputGuards('x' as never)],
  ['A stage of inputGuards(): check', () => inputGuards([{ name: 'x' } as never])],
  ['inputGuards(): locale', () => inputGuards([], { locale: 5 as never })],
  ['inputLength(): max', () => inputLength({ max: -1 })],
  ['inputLength(): min 6', () => inputLength({ min: 6, max: 5 })],
  ['classify(): classifier', () => classify('x' as never)],
  ['permission(): allows', () => permission(undefined as never)],
])('a CONFIGURATION error names the invalid option: %s', (message, make) => {
  expect(make).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message) as string,
    }),
  );
});
