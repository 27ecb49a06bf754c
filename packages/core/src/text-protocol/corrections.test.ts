import { expect, test } from 'vitest';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { answersOnly } from '../context/history-views.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { textOf, type Msg } from '../message/msg.ts';
import { structured } from '../output/structured.ts';
import { toUiMessages } from '../stream/ui/ui-messages.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { look } from '@test/support/plain-tools.ts';
import type { CheckAnswer } from './parsed-reply.ts';
import { textToolCalls } from './text-tool-calls.ts';
import { checkAnswers } from './check-answers.ts';
import { retry } from '../resilience/retry.ts';

const looks = { text: 'TBD', toolCalls: [{ name: 'look' }] };
const finished: CheckAnswer = (reply) =>
  reply.includes('TBD') ? 'Leave nothing open.' : undefined;

function setUp(
  replies: readonly ScriptedReply[],
  check?: CheckAnswer,
  { use = [], ...options }: Partial<AgentOptions> = {},
) {
  const { agent, model } = scriptedAgent(replies, {
    tools: [look],
    ...options,
    use: [...use, checkAnswers(check && { check })],
  });
  return { agent, model };
}

const told = (messages: readonly Msg[]) =>
  messages.map((message) => `${message.role}: ${textOf(message)}`);

test('checkAnswers() checks answers of a model with native tool calls, but does not check replies with tool calls', async () => {
  const { agent, model } = setUp([looks, 'TBD', 'Seen.'], finished);
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('go')) events.push(event);
  expect(events.at(-1)).toMatchObject({
    result: { text: 'Seen.', reason: 'stop', iterations: 3, toolsUsed: ['look'] },
  });
  expect(events.filter(({ type }) => type === 'step-reset')).toMatchObject([
    { reason: 'protocol' },
  ]);
  expect(told(model.requests[2]!.messages)).toEqual([
    'user: go',
    'assistant: TBD',
    'tool: ',
    'assistant: TBD',
    'user: Leave nothing open.',
  ]);
  const log = await agent.messages();
  expect(log.map(({ metadata }) => metadata?.['correction'])).toEqual([
    undefined,
    undefined,
    undefined,
    'reply',
    'message',
    undefined,
  ]);
  expect(log[3]!.metadata).toMatchObject({ usage: { inputTokens: 10 } });
  expect(JSON.stringify(toUiMessages(log))).not.toContain('Leave nothing open');
});

test('an empty answer is corrected, also with a custom check, which may replace the correction text', async () => {
  const wordless = setUp(['', ' \n', 'Hi.']);
  expect(await wordless.agent.call('go')).toMatchObject({ text: 'Hi.', iterations: 3 });
  const beside = setUp([{ thinking: 'so' }, 'TBD', 'Hi.'], finished);
  expect(await beside.agent.call('go')).toMatchObject({ text: 'Hi.', iterations: 3 });
  expect(told(beside.model.requests[1]!.messages)).toEqual([
    'user: go',
    expect.stringContaining('user: Your reply is empty'),
  ]);
  const worded = setUp(['', 'Hallo.'], (reply) => (reply ? null : 'Bitte antworte.'));
  await worded.agent.call('go');
  expect(told(worded.model.requests[1]!.messages)).toEqual(['user: go', 'user: Bitte antworte.']);
});

test('the check gets the answer, its thinking, the tools, the messages and the finish reason', async () => {
  const seen: unknown[] = [];
  const { agent } = setUp([looks, { thinking: 'Hm.', text: 'Seen.' }], async (reply, context) => {
    const { thinking, tools, messages, finishReason, replyFor } = context;
    seen.push([reply, thinking, tools.length, messages.at(-1)?.role, finishReason, replyFor]);
  });
  await agent.call('go');
  expect(seen).toEqual([['Seen.', 'Hm.', 1, 'tool', 'stop', undefined]]);
});

test('answersOnly() hides corrections from later calls, and corrections count toward the limit of iterations', async () => {
  const { agent, model } = setUp(['TBD', 'One.', 'Two.'], finished, { use: [answersOnly()] });
  await agent.call('first');
  await agent.call('second');
  expect(told(model.requests[2]!.messages)).toEqual([
    'user: first',
    'assistant: One.',
    'user: second',
  ]);
  const limited = setUp(['TBD', 'TBD', 'TBD, in short'], finished, { limits: { iterations: 2 } });
  expect(await limited.agent.call('go')).toMatchObject({
    reason: 'max-iterations',
    text: 'TBD, in short',
  });
});

test('an answer may consist of a picture only, and a structured value needs no text', async () => {
  const picture = { deltas: [[{ type: 'file', mediaType: 'image/png', data: 'AA' } as const]] };
  expect(await setUp([picture]).agent.call('go')).toMatchObject({ iterations: 1 });
  const value = { toolCalls: [{ name: 'generate_response', input: { n: 2 } }] };
  const { agent } = setUp([value], finished);
  expect(await agent.call('go', { output: structured({ type: 'object' }) })).toMatchObject({
    output: { n: 2 },
    iterations: 1,
  });
});

test('if retry() repeats the model request, the check gets only the new reply', async () => {
  const failing = {
    text: 'TBD',
    error: Object.assign(new Error('reset'), { status: 503 }),
  };
  const model = new ScriptedModel([failing, 'Fine.']);
  const again = retry({ afterFirstDelta: true, sleep: () => Promise.resolve() });
  const agent = new ReActAgent({
    name: 'a',
    model,
    use: [checkAnswers({ check: finished }), again],
  });
  expect(await agent.call('go')).toMatchObject({ text: 'Fine.', iterations: 1 });
});

test('a check that fails ends the call, and a check that waits does not block an interrupt', async () => {
  const failing = setUp(['one'], () => Promise.reject(new Error('down')));
  expect(await failing.agent.call('go', { throwOnError: false })).toMatchObject({
    error: { message: 'wrapReply() of "checkAnswers" failed: down' },
    usage: { inputTokens: 10 },
  });
  const { agent } = setUp(['one'], () => (agent.interrupt(), new Promise<never>(() => {})));
  expect(await agent.call('go')).toMatchObject({ reason: 'interrupted' });
  const [, reply] = await agent.messages();
  expect(reply).toMatchObject({ metadata: { partial: 'interrupted' } });
});

test('a direct answer of a tool is not checked, because no model can correct it', async () => {
  const checked: string[] = [];
  const direct = { ...look, returnDirect: true, execute: () => 'TBD' };
  const { agent } = setUp([looks], (reply) => (checked.push(reply), 'Never.'), { tools: [direct] });
  expect(await agent.call('go')).toMatchObject({ reason: 'return-direct', text: 'TBD' });
  expect(checked).toEqual([]);
});

test.each([
  [
    'checkAnswers()',
    checkAnswers({ check: (reply) => (reply === 'Hm' ? 'Say more.' : undefined) }),
  ],
  [
    'textToolCalls()',
    textToolCalls({ check: (reply) => (reply === 'Hm' ? 'Say more.' : undefined) }),
  ],
])('the correction of a check is not changed by another check in %s', async (_which, outer) => {
  const { agent, model } = setUp(['TBD', 'Hm', 'Nothing is open.'], finished, {
    use: [{ ...outer, name: 'outer' }],
  });
  expect(await agent.call('go')).toMatchObject({ text: 'Nothing is open.', iterations: 3 });
  const said = model.requests[2]!.messages.filter(({ role }) => role !== 'system');
  expect(told(said)).toEqual([
    'user: go',
    'assistant: TBD',
    'user: Leave nothing open.',
    'assistant: Hm',
    'user: Say more.',
  ]);
});

test.each(['native', 'text'] as const)(
  'a structured value is checked like an answer; tool calls: %s',
  async (kind) => {
    const value = (n: number): ScriptedReply =>
      kind === 'native'
        ? { text: 'Here.', toolCalls: [{ name: 'generate_response', input: { n } }] }
        : `Here. {"tool_name":"generate_response","arguments":{"n":${n}}}`;
    const seen: string[] = [];
    const check: CheckAnswer = (reply, { replyFor }) => {
      seen.push(`${replyFor} ${reply}`);
      return reply.includes('1') ? 'n must not be 1.' : undefined;
    };
    const model = new ScriptedModel([value(1), value(2)]);
    const use = [kind === 'native' ? checkAnswers({ check }) : textToolCalls({ check })];
    const agent = new ReActAgent({ name: 'a', model, tools: [look], use });
    const schema = { type: 'object', properties: { n: { type: 'number' } } } as const;
    const result = await agent.call('go', { output: structured(schema) });
    expect(result).toMatchObject({ output: { n: 2 }, iterations: 2 });
    expect(seen).toEqual(['program {"n":1}', 'program {"n":2}']);
    const said = model.requests[1]!.messages.filter(({ role }) => role !== 'system');
    expect(told(said)).toEqual([
      'user: go',
      kind === 'native' ? 'assistant: {"n":1}' : `assistant: ${value(1) as string}`,
      'user: n must not be 1.',
    ]);
  },
);

test('if the check rejects a structured value, the other tool calls of the reply do not run', async () => {
  const value = (n: number) => ({ name: 'generate_response', input: { response: [n] } });
  const one: CheckAnswer = (reply) => (reply === '{"response":[1]}' ? 'Not 1.' : undefined);
  const { agent } = setUp(
    [{ toolCalls: [value(1), { name: 'look' }] }, { toolCalls: [value(2)] }],
    one,
  );
  const output = structured({ type: 'array' });
  expect(await agent.call('go', { output })).toMatchObject({ output: [2], toolsUsed: [] });
});

test('the request for a structured value at the limit of iterations is not checked', async () => {
  const value = { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] };
  const { agent } = setUp([value, value], () => 'Never.', { limits: { iterations: 1 } });
  const output = structured({ type: 'object' });
  expect((await agent.call('go', { output })).output).toEqual({ n: 1 });
});

test('checkAnswers() rejects invalid options', () => {
  for (const options of [null, { check: 'x' }])
    expect(() => checkAnswers(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
});
