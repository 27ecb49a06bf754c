import { expect, test } from 'vitest';
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
} from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import type { ClientText } from '@isoloop/core/host';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { pay } from '@test/support/plain-tools.ts';
import { inputGuard } from './input-guard.ts';

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
