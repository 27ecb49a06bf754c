import { expect, test } from 'vitest';
import type { Hook } from '@isoloop/core/event';
import {
  InMemoryMemory,
  assistantMessage,
  toolMessage,
  userMessage,
  toolResultsOf,
  type Msg,
  tool,
  type AgentOptions,
  type ReActAgent,
} from '@isoloop/core';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import type { ScriptedModel, ScriptedReply } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const ran: unknown[] = [];
const look = tool({
  name: 'look',
  description: '',
  input: { type: 'object' },
  replay: 'safe',
  execute: (input) => {
    ran.push((input as { n: number }).n);
    return `looked ${(input as { n: number }).n}`;
  },
});
const external = tool({ name: 'external', description: '', input: { type: 'object' } });

const result = (toolUseId: string, output: string, name = 'look'): Msg =>
  toolMessage({ type: 'tool_result', toolUseId, name, output, state: 'success' });
const asked = assistantMessage(
  ['1', '2', '3'].map((id) => ({ type: 'tool_use', id, name: 'look', input: { n: Number(id) } })),
);

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  ran.length = 0;
  return scriptedAgent(replies, { tools: [look, external], ...options });
}

async function expectWhole(
  agent: ReActAgent,
  model: ScriptedModel,
  outputs: readonly string[],
): Promise<void> {
  expect(
    model.requests
      .at(-1)!
      .messages.flatMap(toolResultsOf)
      .map(({ output }) => output),
  ).toEqual(outputs);
  expect(model.requests.flatMap(({ messages }) => requestFaults(messages))).toEqual([]);
  expect(historyFaults(await agent.messages())).toEqual([]);
}

test.for<[which: string, known: readonly string[], outputs: readonly string[]]>([
  ['first', ['1'], ['known 1', 'looked 2', 'looked 3']],
  ['second', ['2'], ['looked 1', 'known 2', 'looked 3']],
  ['last two, the wrong way round', ['3', '2'], ['looked 1', 'known 2', 'known 3']],
])(
  'a loaded log has the result of the %s of three tool calls, and only the others run',
  async ([, known, outputs]) => {
    const memory = new InMemoryMemory();
    await memory.append([
      userMessage('go'),
      asked,
      ...known.map((id) => result(id, `known ${id}`)),
    ]);
    const { agent, model } = setUp(['Done.'], { memory });
    expect(await agent.call()).toMatchObject({ reason: 'stop', text: 'Done.' });
    expect(ran).toEqual([1, 2, 3].filter((n) => !known.includes(String(n))));
    await expectWhole(agent, model, outputs);
  },
);

test('if the input of the call contains a tool result, only the other tool calls run', async () => {
  const memory = new InMemoryMemory();
  await memory.append([userMessage('go'), asked]);
  const { agent, model } = setUp(['Done.'], { memory });
  await agent.call([result('2', 'brought')]);
  expect(ran).toEqual([1, 3]);
  await expectWhole(agent, model, ['looked 1', 'brought', 'looked 3']);
});

test('if results arrive one at a time, the other tool calls stay pending, and finished ones do not run again', async () => {
  const replies = [
    { toolCalls: [{ name: 'external' }, { name: 'look', input: { n: 2 } }, { name: 'external' }] },
    'Done.',
  ];
  const { agent, model } = setUp(replies);
  expect((await agent.call('go')).pending.map(({ toolUseId }) => toolUseId)).toEqual([
    'call_1',
    'call_3',
  ]);
  expect(
    (await agent.call([result('call_3', 'three', 'external')])).pending.map(
      ({ toolUseId }) => toolUseId,
    ),
  ).toEqual(['call_1']);
  expect((await agent.call([result('call_1', 'one', 'external')])).reason).toBe('stop');
  expect(ran).toEqual([2]);
  await expectWhole(agent, model, ['one', 'looked 2', 'three']);
});

test('if a hook gives some results and jumps to the tools, only the other tool calls run', async () => {
  const hook: Hook = {
    on: {
      'post-reasoning': ({ iteration, jumpTo }) =>
        iteration === 1 ? jumpTo('tools', [result('call_2', 'by hook')]) : undefined,
    },
  };
  const replies = [{ toolCalls: [1, 2, 3].map((n) => ({ name: 'look', input: { n } })) }, 'Done.'];
  const { agent, model } = setUp(replies, { use: [hook] });
  await agent.call('go');
  expect(ran).toEqual([1, 3]);
  await expectWhole(agent, model, ['looked 1', 'by hook', 'looked 3']);
});

test('if a hook gives all results and jumps to the tools, no tool runs, and the model continues', async () => {
  const results = [result('call_1', 'by hook')];
  const hook: Hook = {
    on: {
      'post-reasoning': ({ iteration, jumpTo }) =>
        iteration === 1 ? jumpTo('tools', results) : undefined,
    },
  };
  const { agent, model } = setUp([{ toolCalls: [{ name: 'look', input: { n: 1 } }] }, 'Done.'], {
    use: [hook],
  });
  expect((await agent.call('go')).text).toBe('Done.');
  expect(ran).toEqual([]);
  await expectWhole(agent, model, ['by hook']);
});

test('a hook that passes an invalid message to jumpTo() fails the call', async () => {
  const { agent } = setUp([], {
    use: [{ on: { 'pre-reasoning': ({ jumpTo }) => jumpTo('end', [{}] as never) } }],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
