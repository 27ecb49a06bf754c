import { expect, test } from 'vitest';
import {
  type AgentEvent,
  type UseList,
  textOf,
  toolResultsOf,
  tool,
  ReActAgent,
} from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { look } from '@test/support/plain-tools.ts';
import { arcReactor } from './arc-reactor.ts';
import { finalWithoutTools } from './final-without-tools.ts';
import { oxygent } from '../oxygent/oxygent.ts';

const call = '{"tool_name":"look","arguments":{}}';
const calls = (count: number): string[] => Array.from({ length: count }, () => call);

const uses: readonly [name: string, use: () => UseList][] = [
  ['textToolCalls() after arcReactor()', () => [arcReactor(), textToolCalls()]],
  ['textToolCalls() before arcReactor()', () => [textToolCalls(), arcReactor()]],
  ['oxygent() before arcReactor()', () => [oxygent(), arcReactor()]],
];

function setUp(use: UseList, replies: readonly ScriptedReply[]) {
  const model = new ScriptedModel(replies, { features: { tools: false } });
  return { model, agent: new ReActAgent({ name: 'a', model, tools: [look], use }) };
}

test.each(uses)(
  'with %s, a model that keeps calling tools in text gets eleven requests',
  async (_name, use) => {
    const { agent, model } = setUp(use(), [...calls(11), 'again']);
    expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: '' });
    expect(model.requests).toHaveLength(11);
    expect((await agent.messages()).flatMap(toolResultsOf)).toHaveLength(10);
    expect(await agent.call('and now?')).toMatchObject({ reason: 'stop', text: 'again' });
  },
);

test.each(uses)(
  'with %s, the words beside the last tool call are the answer',
  async (_name, use) => {
    const { agent } = setUp(use(), [...calls(10), `已查到三条。\n${call}`]);
    const events: AgentEvent[] = [];
    const stream = agent.stream('go');
    for await (const event of stream) events.push(event);
    const { message, text, reason } = await stream.result;
    expect({ text, reason }).toEqual({ text: '已查到三条。', reason: 'limit' });
    expect(message).toMatchObject({ name: 'a', metadata: { finishReason: 'stop' } });
    expect(message.metadata).not.toHaveProperty('invalidReply');
    expect((await agent.messages()).at(-1)).toEqual(message);
    const last = events.findLast(({ type }) => type === 'step-reset') as
      | Extract<AgentEvent, { type: 'step-reset' }>
      | undefined;
    expect(last?.replacement && textOf(last.replacement)).toBe('已查到三条。');
  },
);

test.each(uses.slice(0, 2))(
  'with %s, a malformed last tool call is not part of the answer and ends the call',
  async (_name, use) => {
    const { agent, model } = setUp(use(), [
      ...calls(10),
      'Wait. {"tool_name": "look", "argum',
      'no',
    ]);
    expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'Wait.' });
    expect(model.requests).toHaveLength(11);
  },
);

test.each(uses)(
  'with %s, a structured answer is still requested, and then the call ends',
  async (_name, use) => {
    const { agent, model } = setUp(use(), calls(40));
    const output = structured({ type: 'object', properties: { n: { type: 'number' } } } as const);
    await expect(agent.call('go', { output })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    expect(model.requests).toHaveLength(14);
    const typed = setUp(use(), [
      ...calls(11),
      '{"tool_name":"generate_response","arguments":{"n":1}}',
    ]);
    expect(await typed.agent.call('go', { output })).toMatchObject({ output: { n: 1 } });
  },
);

test('a malformed tool call is corrected as long as there are tools', async () => {
  const { agent, model } = setUp(
    [arcReactor(), textToolCalls()],
    ['{"tool_name": "look"', 'Done.'],
  );
  expect(await agent.call('go')).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(model.requests).toHaveLength(2);
});

test('`check` still checks an answer after the tools were removed', async () => {
  const check = (reply: string) => (reply === 'Maybe.' ? 'Say yes or no.' : undefined);
  const use = [arcReactor(), textToolCalls({ check })];
  const { agent, model } = setUp(use, [...calls(10), 'Maybe.', 'Yes.']);
  expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'Yes.' });
  expect(model.requests).toHaveLength(12);
});

test('without arcReactor(), a tool call after the limit is corrected', async () => {
  const model = new ScriptedModel([call, call, 'Done.'], { features: { tools: false } });
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [look],
    use: [textToolCalls()],
    limits: { toolCalls: 1 },
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'Done.' });
});

test('if only a tool that gives the answer is left, calls of other tools are removed', async () => {
  const answer = tool({
    name: 'answer',
    description: 'Answers',
    input: {},
    execute: () => 'Done.',
  });
  const ask = async (reply: ScriptedReply) => {
    const agent = new ReActAgent({
      name: 'a',
      model: new ScriptedModel([reply, 'Asked again.']),
      tools: [look, { ...answer, givesAnswer: true, returnDirect: true }],
      limits: { toolCalls: 0 },
      use: [finalWithoutTools()],
    });
    return agent.call('go');
  };
  const removed = await ask({ text: 'It is 5.', toolCalls: [{ name: 'look' }] });
  expect(removed).toMatchObject({ reason: 'limit', text: 'It is 5.' });
  const given = await ask({ toolCalls: [{ name: 'answer' }] });
  expect(given).toMatchObject({ reason: 'return-direct', text: 'Done.' });
});
