import { patchToolCalls } from '../middleware/approval/patch-tool-calls.ts';
import { expect, test } from 'vitest';
import { userMessage } from '../message/create-message.ts';
import { textOf, toolResultsOf } from '../message/message-text.ts';
import { historyFaults, requestFaults } from '../testing/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions } from '../agent/agent-options.ts';
import { summarize } from './limit.ts';
import { ReActAgent } from '../agent/react-agent.ts';

const input = { type: 'object' } as const;
const step = tool({ name: 'step', description: 'One step', input, execute: () => 'stepped' });
const asked = tool({
  name: 'asked',
  description: 'Needs a yes',
  input,
  needsApproval: true,
  execute: () => 'allowed',
});

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  return { agent: new ReActAgent({ name: 'a', model, tools: [step, asked], ...options }), model };
}

const steps = (count: number): ScriptedReply[] =>
  Array.from({ length: count }, () => ({ toolCalls: [{ name: 'step' }] }));

test('ten rounds of reasoning and acting, then a summary: eleven requests', async () => {
  const { agent, model } = setUp([...steps(10), 'in short', 'next']);
  expect(await agent.call('go')).toMatchObject({
    reason: 'max-iterations',
    text: 'in short',
    iterations: 10,
    toolsUsed: ['step'],
  });
  expect(model.requests).toHaveLength(11);
  expect((await agent.messages()).flatMap(toolResultsOf)).toHaveLength(10);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect((await agent.messages()).map(textOf).filter(Boolean)).toEqual(['go', 'in short']);
  expect(await agent.call('again')).toMatchObject({ reason: 'stop', iterations: 1 });
});

test('an answer in the last round is an answer', async () => {
  const { agent, model } = setUp([...steps(2), 'done'], { limits: { iterations: 3 } });
  expect(await agent.call('go')).toMatchObject({ reason: 'stop', text: 'done', iterations: 3 });
  expect(model.requests).toHaveLength(3);
});

test('no round at all: the summary is the first request', async () => {
  const { agent, model } = setUp(['in short'], { limits: { iterations: 0 } });
  expect(await agent.call('go')).toMatchObject({
    reason: 'max-iterations',
    text: 'in short',
    iterations: 0,
  });
  expect(model.requests).toHaveLength(1);
});

test('the summary is asked without tools and without a tool choice, with a question that is not stored', async () => {
  const { agent, model } = setUp([...steps(1), 'in short'], {
    limits: { iterations: 1 },
    onLimit: summarize({ prompt: 'Sum up.' }),
    systemPrompt: 'Be brief.',
  });
  await agent.call('go', { toolChoice: 'required', temperature: 0.1 });
  expect(model.requests[0]).toMatchObject({ toolChoice: 'required', temperature: 0.1 });
  expect(model.requests[1]).toMatchObject({ tools: [], temperature: 0.1 });
  expect(model.requests[1]).not.toHaveProperty('toolChoice');
  expect(model.requests[1]!.messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'user',
  ]);
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toBe('Sum up.');
  expect((await agent.messages()).map(textOf)).not.toContain('Sum up.');
});

test('a summary of messages of one’s own', async () => {
  const messages = () => [userMessage('What is known?')];
  const { agent, model } = setUp([...steps(1), 'in short'], {
    limits: { iterations: 1 },
    onLimit: summarize({ messages }),
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'max-iterations', text: 'in short' });
  expect(model.requests[1]!.messages.map(textOf)).toEqual(['What is known?']);
  expect((await agent.messages()).map(textOf).filter(Boolean)).toEqual(['go', 'in short']);
  expect(() => summarize({ messages: [] as never })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('a summary that calls a tool keeps its text alone; one that does nothing else fails', async () => {
  const toolCalls = [{ name: 'step' }];
  const { agent } = setUp(
    [...steps(1), { text: 'in short', toolCalls }, ...steps(1), { toolCalls }, 'fine'],
    {
      limits: { iterations: 1 },
    },
  );
  expect((await agent.call('go')).message.content).toEqual([{ type: 'text', text: 'in short' }]);
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'MODEL_BAD_RESPONSE' });
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect((await agent.call('again')).text).toBe('fine');
});

test('calls that were open before are done with before the summary is asked', async () => {
  const { agent, model } = setUp(
    [{ toolCalls: [{ name: 'asked' }, { name: 'asked' }] }, 'in short'],
    { limits: { iterations: 1 } },
  );
  expect((await agent.call('go')).reason).toBe('suspended');
  const decided = await agent.call(
    [
      { type: 'approve', toolUseId: 'call_1' },
      { type: 'reject', toolUseId: 'call_2' },
    ],
    { throwOnError: false },
  );
  expect(decided).toMatchObject({ reason: 'stop', text: 'in short', iterations: 1 });
  expect(requestFaults(model.requests[1]!.messages)).toEqual([]);

  const { agent: other, model: both } = setUp([{ toolCalls: [{ name: 'asked' }] }, 'in short'], {
    limits: { iterations: 1 },
  });
  const stop = other.addHook({ on: { 'post-reasoning': (_event, control) => control.stop() } });
  await other.call('go');
  stop();
  expect((await other.call()).reason).toBe('suspended');
  expect(both.requests).toHaveLength(1);
});

test('interrupted closings and the limit: new input after a suspension closes the calls, then the summary is asked', async () => {
  const limits = { iterations: 0 };
  const memory = setUp([{ toolCalls: [{ name: 'asked' }] }]);
  await memory.agent.call('go');
  const { agent, model } = setUp(['in short'], {
    limits,
    memory: memory.agent.memory,
    use: [patchToolCalls()],
  });
  expect((await agent.call('forget it')).reason).toBe('max-iterations');
  expect(requestFaults(model.requests[0]!.messages)).toEqual([]);
  expect(model.requests[0]!.messages.flatMap(toolResultsOf)).toMatchObject([
    { toolUseId: 'call_1', state: 'interrupted' },
  ]);
});

test('no more tools run at a time than allowed, and results keep their order for the model', async () => {
  let running = 0;
  let most = 0;
  const slow = tool({
    name: 'slow',
    description: 'Yields',
    input,
    async execute() {
      most = Math.max(most, (running += 1));
      for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
      running -= 1;
      return 'ok';
    },
  });
  for (const [parallelTools, expected] of [
    [1, 1],
    [2, 2],
    [undefined, 5],
  ] as const) {
    most = 0;
    const limits = parallelTools === undefined ? {} : { parallelTools };
    const { agent, model } = setUp(
      [{ toolCalls: Array.from({ length: 5 }, () => ({ name: 'slow' })) }, 'done'],
      { tools: [slow], limits },
    );
    await agent.call('go');
    expect(most).toBe(expected);
    expect(requestFaults(model.requests[1]!.messages)).toEqual([]);
  }
});
