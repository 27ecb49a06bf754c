import { expect, test, vi } from 'vitest';
import { waitingTools } from '@test/support/waiting-tools.ts';
import {
  AgentError,
  type Decision,
  createMessage,
  userMessage,
  textOf,
  toolResultsOf,
  type Msg,
  type AgentOptions,
  tool,
  toolMessage,
} from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import type { ClientText } from '@isoloop/core/host';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { pay } from '@test/support/plain-tools.ts';
import { inputGuard, type InputGuard } from './input-guard.ts';
import { checkInput, rejectionOf } from '@test/support/check-input.ts';
import { piiGuard } from '../pii/pii-guard.ts';
import type { GuardOptions } from '../rejection.ts';
import { lengthGuard } from './length-guard.ts';
import { permissionGuard } from './permission-guard.ts';
import { classifierGuard } from './classifier-guard.ts';

const said = (messages: readonly Msg[]): readonly string[] =>
  messages.map((message) => {
    const [result] = toolResultsOf(message);
    return result ? String(result.output) : textOf(message);
  });

/** Creates a guard that keeps the texts that it sees, and adds its name to them. */
function marking(name: string, looks: (readonly string[])[]) {
  const marked = (block: Msg['content'][number]): Msg['content'][number] => {
    if (block.type === 'text') return { ...block, text: `${block.text} ${name}` };
    return block.type === 'tool_result' ? { ...block, output: `${block.output} ${name}` } : block;
  };
  return inputGuard(name, (input) => {
    looks.push([name, ...said(input)]);
    return input.map((message) => ({ ...message, content: message.content.map(marked) }));
  });
}

function setUp(
  replies: readonly ScriptedReply[],
  use: NonNullable<AgentOptions['use']>,
  more: Partial<AgentOptions> = {},
) {
  return scriptedAgent(replies, { use, ...more });
}

const asks: ScriptedReply = {
  toolCalls: ['outside', 'pay'].map((name) => ({ name, id: name, input: {} })),
};

test('each guard gets messages and texts of decisions as the guard before it left them', async () => {
  const looks: (readonly string[])[] = [];
  const { tools } = waitingTools();
  const use = [marking('one', looks), marking('two', looks)];
  const { agent, model } = setUp([asks, 'Done.'], use, { tools });
  await agent.call('Go.');
  const decisions: readonly Decision[] = [
    { toolUseId: 'outside', type: 'result', output: 'red' },
    { toolUseId: 'pay', type: 'reject', reason: 'no' },
  ];
  await agent.call('And?', { decisions });
  expect(looks).toEqual([
    ['one', 'Go.'],
    ['two', 'Go. one'],
    ['one', 'red', 'no', 'And?'],
    ['two', 'red one', 'no one', 'And? one'],
  ]);
  const last = model.requests[1]!.messages;
  expect(said(last).slice(-3)[0]).toBe('red one two');
  expect(JSON.stringify(last)).toContain('no one two');
  expect(said(last).at(-1)).toBe('And? one two');
});

test('a call that only approves is judged too, with an empty list', async () => {
  const looks: (readonly string[])[] = [];
  const replies = [{ toolCalls: [{ name: 'pay', id: 'pay' }] }, 'Done.'];
  const { agent } = setUp(replies, [marking('g', looks)], { tools: [pay] });
  await agent.call('Go.');
  expect((await agent.call([{ toolUseId: 'pay', type: 'approve' }])).text).toBe('Done.');
  expect(looks).toEqual([['g', 'Go.'], ['g']]);
});

test('guards in the `use` of a call judge its instructions and `clientTexts`, once', async () => {
  const looks: (readonly string[])[] = [];
  const taken: (readonly string[])[] = [];
  const text: ClientText = {
    message: userMessage('claim'),
    take: (judged) => void taken.push(said(judged ? [judged] : [])),
  };
  const look = tool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: () => void agent.interrupt({ mode: 'inject', messages: 'more' }),
  });
  const replies = [{ toolCalls: [{ name: 'look' }] }, 'Done.'];
  const { agent, model } = setUp(replies, [marking('own', looks)], { tools: [look] });
  await agent.call('Go.', {
    use: [marking('call', looks)],
    clientTexts: [text],
    instructions: [createMessage('system', 'Be brief.')],
  });
  expect(looks).toEqual([
    ['call', 'claim', 'Be brief.', 'Go.'],
    ['own', 'claim call', 'Be brief. call', 'Go. call'],
    ['call', 'more'],
    ['own', 'more call'],
  ]);
  expect(taken).toEqual([['claim call own']]);
  expect(said(model.requests[1]!.messages)).toEqual([
    'Be brief. call own',
    'Go. call own',
    '',
    expect.anything(),
    'more call own',
  ]);
});

test('`clientTexts` do not count as a new message, so decisions beside them are ignored', async () => {
  const { tools, ran } = waitingTools();
  const { agent } = setUp([asks, 'Done.'], [], { tools });
  await agent.call('Go.');
  const clientTexts = [{ message: userMessage('claim'), take: () => {} }];
  const decisions: readonly Decision[] = [{ toolUseId: 'pay', type: 'approve' }];
  const result = await agent.call(undefined, { clientTexts, decisions });
  expect(result.pending.map(({ toolUseId }) => toolUseId)).toEqual(['outside', 'pay']);
  expect(ran).toEqual([]);
});

test('an interrupt does not abort a guard, and the input is stored', async () => {
  const aborted: boolean[] = [];
  const guard = inputGuard('guard', async (input, { signal }) => {
    agent.interrupt('Stop.');
    await Promise.resolve();
    aborted.push(signal.aborted);
    return input;
  });
  const { agent } = setUp([], [guard]);
  expect(await agent.call('Hi')).toMatchObject({ reason: 'interrupted', text: 'Stop.' });
  expect(aborted).toEqual([false]);
  expect(said(await agent.messages())).toEqual(['Hi', 'Stop.']);
});

test('after an abort, the next guard does not judge', async () => {
  const controller = new AbortController();
  const looks: (readonly string[])[] = [];
  const aborting = inputGuard('first', (input) => (controller.abort(), input));
  const { agent } = setUp([], [aborting, marking('second', looks)]);
  const result = await agent.call('Hi', { signal: controller.signal });
  expect([result.reason, looks]).toEqual(['aborted', []]);
});

test('a guard that throws `GUARD_REJECTED` rejects the call with its message', async () => {
  const guard = inputGuard('guard', () => {
    throw new AgentError('GUARD_REJECTED', 'Not here.', { details: { topic: 3 } });
  });
  const { agent } = setUp([], [guard]);
  expect(await agent.call('Hi')).toMatchObject({
    reason: 'rejected',
    text: 'Not here.',
    error: { code: 'GUARD_REJECTED', details: { topic: 3 } },
  });
});

test('inputGuard() refuses a wrong argument', () => {
  expect(() => inputGuard('guard', 'no' as never)).toThrow('inputGuard(): check must be');
  expect(() => inputGuard(5 as never, (input) => input)).toThrow('inputGuard(): name must be');
});

const input = [userMessage('my secret is hunter2')];
const silent = { onError: () => {} };
const pass = inputGuard('pass', (given) => given);

test('each guard gets the messages that the previous guard returned, and the first rejection ends the check', async () => {
  const seen: string[] = [];
  const say = (name: string): InputGuard =>
    inputGuard(name, (given) => {
      seen.push(`${name}: ${textOf(given[0]!)}`);
      return [userMessage(`${textOf(given[0]!)} ${name}`)];
    });
  const no = inputGuard('no', () => ({
    category: 'OFF_TOPIC',
    details: { topic: 3, stage: 'forged' },
  }));
  const checking = checkInput([say('a'), say('b'), no, say('c')], [userMessage('x')]);
  expect(await rejectionOf(checking)).toMatchObject({
    code: 'GUARD_REJECTED',
    message: 'The assistant does not help with this topic.',
    details: { category: 'OFF_TOPIC', stage: 'no', topic: 3 },
  });
  expect(seen).toEqual(['a: x', 'b: x a']);
  expect(await checkInput([pass, inputGuard('too', (given) => given)], input)).toEqual(input);
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
  'a guard that returns %o rejects the input, and the user sees nothing of that value',
  async (value) => {
    const onError = vi.fn();
    const bad = inputGuard('bad', () => value as readonly Msg[], { onError });
    const error = await rejectionOf(checkInput([bad, pass], input));
    expect(error).toMatchObject({
      message: 'Security check failed',
      details: { category: 'SYSTEM_ERROR', stage: 'bad' },
    });
    expect(JSON.stringify(error)).not.toContain('hunter2');
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.any(Error), 'bad');
  },
);

test('a guard that throws rejects the input, even if `onError` throws too', async () => {
  const bad = (): never => {
    throw new TypeError('hunter2');
  };
  const late = inputGuard('bad', async () => bad(), silent);
  expect(await rejectionOf(checkInput([late], input))).toMatchObject({
    message: 'Security check failed',
  });
  const onError = (): void => {
    throw new Error('listener');
  };
  expect(await rejectionOf(checkInput([inputGuard('bad', bad, { onError })], input))).toMatchObject(
    { details: { category: 'SYSTEM_ERROR' } },
  );
});

test('an error about an unknown category names the categories', async () => {
  const onError = vi.fn<(error: unknown) => void>();
  const guard = classifierGuard(() => 'TOXIC' as never, { onError });
  expect(await rejectionOf(checkInput([guard], input))).toMatchObject({
    details: { category: 'SYSTEM_ERROR', stage: 'classifierGuard' },
  });
  expect(onError.mock.calls[0]![0]).toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining(
      '"classifierGuard" returned an object that is no rejection: category must be one of RATE_LIMITED,',
    ),
  });
});

test('rejection messages use the locale or the custom texts', async () => {
  const words = async (options: GuardOptions, message?: string): Promise<string> => {
    const rejection = { category: 'UNAUTHORIZED', ...(message && { message }) } as const;
    const guard = inputGuard('no', () => rejection, options);
    return (await rejectionOf(checkInput([guard], input))).message;
  };
  expect(await words({ locale: 'ko' })).toBe('이 작업을 할 권한이 없습니다.');
  const messages = { 'GUARD_REJECTED:UNAUTHORIZED': 'Nur für Mitglieder.' };
  expect(await words({ messages })).toBe('Nur für Mitglieder.');
  expect(await words({}, 'Ask Ann.')).toBe('Ask Ann.');
});

test('with input guards, call() returns a rejection, stores no input, and the next call works', async () => {
  const { agent } = scriptedAgent(['fine'], { use: [lengthGuard({ max: 5 })] });
  const result = await agent.call('too long');
  expect(result).toMatchObject({
    reason: 'rejected',
    error: { code: 'GUARD_REJECTED', details: { length: 8, min: 1, max: 5 } },
  });
  expect(await agent.messages()).toEqual([]);
  expect(await agent.call('ok')).toMatchObject({ reason: 'stop', text: 'fine' });
});

test('an abort ends the wait for a guard that never answers', async () => {
  const controller = new AbortController();
  const onError = vi.fn();
  const hang = (): Promise<never> => {
    controller.abort();
    return new Promise(() => {});
  };
  const { agent } = scriptedAgent([], { use: [inputGuard('hang', hang, { onError })] });
  expect(await agent.call('Hi', { signal: controller.signal })).toMatchObject({
    reason: 'aborted',
  });
  expect(await agent.messages()).toEqual([]);
  expect(onError).not.toHaveBeenCalled();
});

test('lengthGuard() counts trimmed text, accepts media without text, and counts tool results', async () => {
  const guard = lengthGuard({ min: 2, max: 4 });
  const rejected = { category: 'INVALID_INPUT', min: 2, max: 4 };
  const check = (text: string) => checkInput([guard], [userMessage(text)]);
  for (const text of ['ab', ' abcd\n', '\ud800\udc00']) expect(await check(text)).toHaveLength(1);
  for (const text of ['', ' a ', 'abcde', '\u0000\u0000\u0000\u0000\u0000'])
    expect(await rejectionOf(check(text))).toMatchObject({ details: rejected });
  const image = userMessage([
    { type: 'image', source: { type: 'url', url: 'https://example.test/a.png' } },
  ]);
  expect(await checkInput([guard], [image])).toEqual([image]);
  const result = toolMessage({
    type: 'tool_result',
    toolUseId: '1',
    name: 't',
    output: 'a long result',
    state: 'success',
  });
  expect(await checkInput([guard], [])).toEqual([]);
  expect(await rejectionOf(checkInput([guard], [result]))).toMatchObject({ details: rejected });
  const long = (length: number) => checkInput([lengthGuard()], [userMessage('x'.repeat(length))]);
  expect(await long(5000)).toHaveLength(1);
  expect(await rejectionOf(long(5001))).toMatchObject({ details: { max: 5000 } });
});

test('classifierGuard() and permissionGuard() accept the input only if the callback explicitly allows the input', async () => {
  const by = (value: unknown) =>
    checkInput([classifierGuard(() => value as 'pass', silent)], input);
  expect(await by('pass')).toEqual(input);
  expect((await rejectionOf(by('OFF_TOPIC'))).details).toEqual({
    category: 'OFF_TOPIC',
    stage: 'classifierGuard',
  });
  expect((await rejectionOf(by({ category: 'INVALID_INPUT', message: 'No.' }))).message).toBe(
    'No.',
  );
  for (const value of ['yes', '', true, undefined, {}])
    expect((await rejectionOf(by(value))).details).toMatchObject({ category: 'SYSTEM_ERROR' });
  const seen: unknown[] = [];
  const read = classifierGuard((text, { userId }) => (seen.push(text, userId), 'pass'), {
    name: 'topic',
  });
  expect(read.name).toBe('topic');
  await checkInput([read], input);
  await checkInput([read], []);
  expect(seen).toEqual(['my secret is hunter2', 'u']);

  const allow = (value: unknown) =>
    checkInput([permissionGuard(() => value as boolean, silent)], input);
  expect(await allow(true)).toEqual(input);
  expect((await rejectionOf(allow(false))).details).toMatchObject({
    category: 'UNAUTHORIZED',
    stage: 'permissionGuard',
  });
  for (const value of [1, 'yes', undefined])
    expect((await rejectionOf(allow(value))).details).toMatchObject({ category: 'UNAUTHORIZED' });
});

test('piiGuard() masks personal data in the input before it is stored, also in tool results', async () => {
  const { agent } = scriptedAgent(['noted'], { use: [piiGuard()] });
  await agent.call('I am ann@example.test, card 4111 1111 1111 1111.');
  expect((await agent.messages()).map(textOf)).toEqual(['I am [EMAIL], card [CARD].', 'noted']);
  const result = toolMessage({
    type: 'tool_result',
    toolUseId: '1',
    name: 't',
    output: [{ type: 'text', text: 'bob@example.test' }],
    state: 'success',
  });
  expect(JSON.stringify(await checkInput([piiGuard()], [result]))).toContain('"text":"[EMAIL]"');
  expect(
    (await rejectionOf(checkInput([piiGuard({ action: 'reject' })], [result]))).details,
  ).toMatchObject({ category: 'INVALID_INPUT' });
  expect(await checkInput([piiGuard()], input)).toStrictEqual(input);
});

test.each<[string, () => unknown]>([
  ['inputGuard(): check', () => inputGuard('x', 'y' as never)],
  ['inputGuard(): locale', () => inputGuard('x', (given) => given, { locale: 5 as never })],
  ['lengthGuard(): name', () => lengthGuard({ name: 5 as never })],
  ['lengthGuard(): max', () => lengthGuard({ max: -1 })],
  ['lengthGuard(): min 6', () => lengthGuard({ min: 6, max: 5 })],
  ['classifierGuard(): classifier', () => classifierGuard('x' as never)],
  ['permissionGuard(): allows', () => permissionGuard(undefined as never)],
])('a CONFIGURATION error names the invalid option: %s', (message, make) => {
  expect(make).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message) as string,
    }),
  );
});
