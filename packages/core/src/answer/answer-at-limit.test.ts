import { closeOpenCalls } from '../approval/close-open-calls.ts';
import { expect, test } from 'vitest';
import type { AgentEvent } from '../event/agent-event.ts';
import { AgentError } from '../error/agent-error.ts';
import { userMessage, textOf, toolResultsOf } from '../message/msg.ts';
import { textStream } from '../stream/text-stream.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { rolesOf } from '@test/roles-of.ts';
import { answerAtLimit } from './answer-at-limit.ts';
import { summarize } from './summarize.ts';
import type { OnLimit } from './on-limit.ts';

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
  return scriptedAgent(replies, { tools: [step, asked], ...options });
}

const steps = (count: number): ScriptedReply[] =>
  Array.from({ length: count }, () => ({ toolCalls: [{ name: 'step' }] }));

test('by default a run makes ten model requests with tools and one for the summary', async () => {
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

test('an answer in the last iteration ends the run normally', async () => {
  const { agent, model } = setUp([...steps(2), 'done'], { limits: { iterations: 3 } });
  expect(await agent.call('go')).toMatchObject({ reason: 'stop', text: 'done', iterations: 3 });
  expect(model.requests).toHaveLength(3);
});

test('with `iterations: 0`, the summary is the first model request', async () => {
  const { agent, model } = setUp(['in short'], { limits: { iterations: 0 } });
  expect(await agent.call('go')).toMatchObject({
    reason: 'max-iterations',
    text: 'in short',
    iterations: 0,
  });
  expect(model.requests).toHaveLength(1);
});

test('the summary request has no tools and no tool choice, and its question is not stored', async () => {
  const { agent, model } = setUp([...steps(1), 'in short'], {
    limits: { iterations: 1 },
    onLimit: summarize({ prompt: 'Sum up.' }),
    systemPrompt: 'Be brief.',
  });
  await agent.call('go', { toolChoice: 'required', temperature: 0.1 });
  expect(model.requests[0]).toMatchObject({ toolChoice: 'required', temperature: 0.1 });
  expect(model.requests[1]).toMatchObject({ tools: [], temperature: 0.1 });
  expect(model.requests[1]).not.toHaveProperty('toolChoice');
  expect(rolesOf(model.requests[1]!.messages)).toBe('system user assistant tool user');
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toBe('Sum up.');
  expect((await agent.messages()).map(textOf)).not.toContain('Sum up.');
});

test('summarize() accepts custom messages for the summary request', async () => {
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

test('a summary that calls a tool keeps only its text', async () => {
  const said = { text: 'in short', toolCalls: [{ name: 'step' }] };
  const { agent } = setUp([...steps(1), said, 'fine'], { limits: { iterations: 1 } });
  expect((await agent.call('go')).message.content).toEqual([{ type: 'text', text: 'in short' }]);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect((await agent.call('again')).text).toBe('fine');
});

const fixed = 'Maximum iterations (1) reached. Unable to generate summary.';

test.for<[what: string, reply: ScriptedReply]>([
  ['is empty', ''],
  ['is white space', ' \n '],
  ['has only thinking', { thinking: 'Hm.' }],
  ['only calls a tool', { toolCalls: [{ name: 'step' }] }],
  ['thinks and calls a tool', { thinking: 'Hm.', toolCalls: [{ name: 'step' }] }],
])('a summary that %s is replaced with a fixed text, which readers also get', async ([, reply]) => {
  const { agent } = setUp([...steps(1), reply, 'fine'], { limits: { iterations: 1 } });
  const stream = agent.stream('go');
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  const result = await stream.result;
  expect(result).toMatchObject({ reason: 'max-iterations', text: fixed, iterations: 1 });
  expect(result.message.content).toEqual([{ type: 'text', text: fixed }]);
  expect(events.filter(({ type }) => type === 'summary-chunk').at(-1)).toMatchObject({
    delta: fixed,
  });
  expect(events.filter(({ type }) => type === 'post-summary')).toHaveLength(1);
  expect((await agent.messages()).at(-1)).toEqual(result.message);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect((await agent.call('again')).text).toBe('fine');
});

test('textStream() contains only the fixed text if the summary is empty', async () => {
  const { agent } = setUp([...steps(1), ''], { limits: { iterations: 1 } });
  const told: string[] = [];
  for await (const text of textStream(agent.stream('go'))) told.push(text);
  expect(told.join('')).toBe(fixed);
});

test('a summary may consist of media only', async () => {
  const file = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const;
  const deltas = [[file, { type: 'finish', reason: 'stop' } as const]];
  const { agent } = setUp([...steps(1), { deltas }], { limits: { iterations: 1 } });
  expect((await agent.call('go')).message.content).toMatchObject([{ type: 'image' }]);
});

test('if the summary at the token limit is empty, the fixed text names the token limit', async () => {
  const { agent } = setUp([...steps(1), ''], { limits: { tokens: 15 } });
  expect(await agent.call('go')).toMatchObject({
    reason: 'limit',
    text: 'Maximum tokens (15) reached. Unable to generate summary.',
  });
});

test('if the summary request fails, the call fails', async () => {
  const fails = [{ text: 'Half a ', error: new AgentError('MODEL_SERVER', 'down') }];
  const { agent } = setUp([...steps(1), fails], { limits: { iterations: 1 } });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

test('tool calls that were open at the limit are decided before the summary request', async () => {
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
  const stop = other.addHook({ on: { 'post-reasoning': (event) => event.stop() } });
  await other.call('go');
  stop();
  expect((await other.call()).reason).toBe('suspended');
  expect(both.requests).toHaveLength(1);
});

test('new input at the limit closes open tool calls before the summary request', async () => {
  const limits = { iterations: 0 };
  const memory = setUp([{ toolCalls: [{ name: 'asked' }] }]);
  await memory.agent.call('go');
  const { agent, model } = setUp(['in short'], {
    limits,
    memory: memory.agent.memory,
    use: [closeOpenCalls()],
  });
  expect((await agent.call('forget it')).reason).toBe('max-iterations');
  expect(requestFaults(model.requests[0]!.messages)).toEqual([]);
  expect(model.requests[0]!.messages.flatMap(toolResultsOf)).toMatchObject([
    { toolUseId: 'call_1', state: 'interrupted' },
  ]);
});

test('at most `parallelTools` tools run at the same time, and results are in request order', async () => {
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

test('`answer` of answerAtLimit() comes before `onLimit`', async () => {
  const saying =
    (text: string): OnLimit =>
    async (_run, run) => ({ type: 'complete', message: run.createMessage('assistant', text) });
  const limits = { iterations: 0 };
  const onLimit = saying('by onLimit');
  const textWith = async (use: AgentOptions['use'] = []): Promise<string> =>
    (await setUp([], { limits, onLimit, use }).agent.call('go')).text;
  expect(await textWith()).toBe('by onLimit');
  expect(await textWith([answerAtLimit()])).toBe('by onLimit');
  expect(await textWith([answerAtLimit({ answer: saying('by answer') })])).toBe('by answer');
});
