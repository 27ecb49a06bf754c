import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { textOf, toolResultsOf } from '../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions, CallOptions } from '../react-agent/agent-options.ts';
import type { ReActAgent } from '../react-agent/react-agent.ts';
import { Agent } from '../agent/agent.ts';
import { approvals } from '../approval/approvals.ts';
import { inputGuard } from '@isoloop/guards';
import { jsonMode } from '../output/json-and-yaml-mode.ts';
import { structured } from '../output/structured.ts';
import { calls, scriptedAgent } from '@test/support/scripted-agent.ts';
import { runLimits } from './run-limits.ts';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

const input = z.object({});
let ran: string[] = [];
beforeEach(() => void (ran = []));
const step = tool({ name: 'step', description: '', input, execute: () => ran.push('step') });
const asked = tool({
  name: 'asked',
  description: '',
  input,
  needsApproval: true,
  execute: () => ran.push('asked'),
});

function setUp(
  replies: readonly ScriptedReply[],
  limits: NonNullable<AgentOptions['limits']>,
  options: Partial<AgentOptions> = {},
) {
  return scriptedAgent(replies, { tools: [step, asked], limits, ...options });
}

const outputs = async (agent: ReActAgent) =>
  (await agent.messages()).flatMap(toolResultsOf).map(({ state, output }) => [state, output]);
const over = ['error', 'Error: The limit of 2 tool calls is reached. Answer with what you have.'];

test('tool calls beyond `limits.toolCalls` get an error result, and the model answers without tools', async () => {
  const { agent, model } = setUp([calls('step', 'step', 'step'), 'done'], { toolCalls: 2 });
  expect(await agent.call('go')).toMatchObject({
    reason: 'limit',
    text: 'done',
    toolsUsed: ['step'],
  });
  expect(ran).toHaveLength(2);
  expect(await outputs(agent)).toContainEqual(over);
  expect(model.requests.map(({ tools }) => tools.length)).toEqual([2, 0]);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('a pending tool call counts in the agent call that requested it, and not in the agent call that resumes it', async () => {
  const { agent, model } = setUp(
    [calls('asked', 'asked', 'step'), calls('step'), calls('step'), 'done'],
    { toolCalls: 2 },
  );
  const { pending } = await agent.call('go');
  expect([pending.length, await outputs(agent)]).toEqual([2, [over]]);
  const rest = await agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'approve' }]);
  expect([rest.reason, rest.pending.length]).toEqual(['suspended', 1]);
  const end = await agent.call([
    { toolUseId: pending[1]!.toolUseId, type: 'reject', reason: 'no' },
  ]);
  expect(end).toMatchObject({ reason: 'limit', text: 'done' });
  expect(ran).toEqual(['asked', 'step', 'step']);
  expect(model.requests.map(({ tools }) => tools.length)).toEqual([2, 2, 2, 0]);
});

test('`limits.toolCalls` applies to each agent call separately', async () => {
  const { agent, model } = setUp([calls('step', 'step'), 'done', calls('step'), 'again'], {
    toolCalls: 2,
  });
  await agent.call('go');
  expect(await agent.call('go on')).toMatchObject({ reason: 'stop', text: 'again' });
  expect(model.requests.map(({ tools }) => tools.length)).toEqual([2, 0, 2, 2]);
});

test('tool calls of tools that were removed at the limit get error results', async () => {
  const { agent } = setUp([calls('step', 'step'), calls('step'), 'done'], { toolCalls: 2 });
  expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'done' });
  expect(ran).toHaveLength(2);
  expect((await outputs(agent)).at(-1)).toEqual(over);
});

test('tool calls that never ran count too, because they were unknown, invalid or rejected', async () => {
  const strict = tool({
    name: 'strict',
    description: '',
    input: z.object({ a: z.string() }),
    execute: () => 'ran',
  });
  const { agent } = setUp(
    [calls('nothing', 'strict'), calls('strict', 'step', 'step'), 'done'],
    { toolCalls: 4 },
    {
      tools: [step, strict],
      use: [
        {
          on: {
            'pre-acting': ({ toolUse, reject }) => void (toolUse.name === 'strict' && reject('no')),
          },
        },
      ],
    },
  );
  expect(await agent.call('go')).toMatchObject({ reason: 'limit', toolsUsed: ['step'] });
  expect(ran).toHaveLength(1);
});

test('a tool call that waited for its approval counts in the run that requested it', async () => {
  const { agent } = setUp([calls('asked'), calls('step', 'step'), 'done'], { toolCalls: 2 });
  const { pending } = await agent.call('go');
  expect(await agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'approve' }])).toMatchObject({
    text: 'done',
  });
  expect(ran).toEqual(['asked', 'step', 'step']);
});

test('calls of a deferred round count in the agent call that starts them', async () => {
  const { agent } = setUp(
    [calls('step', 'step', 'step', 'asked'), 'done'],
    { toolCalls: 2 },
    { use: [approvals({ deferRound: true })] },
  );
  const { pending } = await agent.call('go');
  expect(ran).toEqual([]);
  await agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'approve' }]);
  expect(ran).toEqual(['step', 'step', 'asked']);
  expect(await outputs(agent)).toContainEqual(over);
});

test('outside approvals(), runLimits() counts a call of a deferred round once', async () => {
  const { model } = setUp([calls('step', 'asked'), 'done'], {});
  const decide = async () => ({ type: 'approve' }) as const;
  const use = [runLimits({ toolCalls: 2 }), approvals({ deferRound: true, decide })];
  await new Agent({ name: 'a', model, tools: [step, asked], use }).call('go');
  expect(ran).toEqual(['step', 'asked']);
});

test('with `toolCalls: 0`, the model never gets a tool', async () => {
  const { agent, model } = setUp(['done'], { toolCalls: 0 });
  expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'done' });
  expect(model.requests[0]!.tools).toEqual([]);
});

test('after the tools are used up, the model can still return a structured value', async () => {
  const { agent, model } = setUp(
    [calls('step', 'step'), { toolCalls: [{ name: 'generate_response', input: { n: 1 } }] }],
    {
      toolCalls: 2,
    },
  );
  expect(await agent.call('go', { output: structured(z.object({ n: z.number() })) })).toMatchObject(
    { output: { n: 1 } },
  );
  expect(model.requests[1]!.tools.map(({ name }) => name)).toEqual(['generate_response']);
});

test('the reason of an answer after the last tool call is `limit`, also with an output', async () => {
  const schema = z.object({ n: z.number() });
  const replies = [calls('step'), '{"n":1}'];
  const reasonWith = async (output?: NonNullable<CallOptions['output']>): Promise<string> => {
    const { agent } = setUp(replies, { toolCalls: 1 });
    return (await agent.call('go', output && { output })).reason;
  };
  expect(await reasonWith()).toBe('limit');
  expect(await reasonWith(structured(schema, { mode: 'prompt' }))).toBe('limit');
  expect(await reasonWith(jsonMode())).toBe('limit');
});

test('at `limits.tokens`, the call ends with a summary', async () => {
  const usage = { inputTokens: 60, outputTokens: 40 };
  const { agent, model } = setUp(
    [
      { toolCalls: [{ name: 'step' }], usage },
      { toolCalls: [{ name: 'step' }], usage },
      'in short',
    ],
    {
      tokens: 200,
    },
  );
  expect(await agent.call('go')).toMatchObject({
    reason: 'limit',
    text: 'in short',
    iterations: 2,
  });
  expect(model.requests.at(-1)!.tools).toEqual([]);
});

test('a call that exceeds `limits.timeoutMs` fails, its tools are aborted and closed, and the next call works', async () => {
  let signal: AbortSignal | undefined;
  let started!: () => void;
  const running = new Promise<void>((resolve) => (started = resolve));
  const never = tool({
    name: 'never',
    description: '',
    input,
    execute: (_input, ctx) => {
      ({ signal } = ctx);
      started();
      return new Promise<string>(() => {});
    },
  });
  const { agent } = setUp([calls('never'), 'fine'], { timeoutMs: 1000 }, { tools: [never] });
  const call = agent.call('go').catch((error: unknown) => error);
  await running;
  clock.advanceSync(1000);
  expect(await call).toMatchObject({
    code: 'CALL_TIMEOUT',
    message: 'The call took longer than 1000 ms',
    retryable: true,
  });
  expect(signal?.aborted).toBe(true);
  expect((await outputs(agent))[0]![0]).toBe('interrupted');
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect(await agent.call('again')).toMatchObject({ reason: 'stop', text: 'fine' });
  expect(clock.pendingTimers()).toBe(0);
});

test('a timeout ends a model that hangs, keeps its text, and can be returned as a result', async () => {
  const { agent } = setUp([{ text: 'Half ', hang: true }], { timeoutMs: 1000 });
  const stream = agent.stream('go', { throwOnError: false });
  const types: string[] = [];
  for await (const { type } of stream) {
    types.push(type);
    if (type === 'reasoning-chunk') clock.advanceSync(1000);
  }
  expect(types.slice(-2)).toEqual(['error', 'run-end']);
  expect(await stream.result).toMatchObject({ reason: 'error', error: { code: 'CALL_TIMEOUT' } });
  expect((await agent.messages()).map(textOf)).toEqual(['go', 'Half ']);
});

test('if an abort comes before the timeout, the call ends as aborted', async () => {
  const controller = new AbortController();
  const { agent } = setUp([{ text: 'Half ', hang: true }], { timeoutMs: 1000 });
  const stream = agent.stream('go', { signal: controller.signal });
  for await (const { type } of stream) {
    if (type !== 'reasoning-chunk') continue;
    controller.abort();
    clock.advanceSync(1000);
  }
  expect(await stream.result).toMatchObject({ reason: 'aborted' });
});

test('a guard that exceeds the timeout fails the call, and nothing is stored', async () => {
  let begun!: () => void;
  const guarding = new Promise<void>((resolve) => (begun = resolve));
  const guard = inputGuard(
    'guard',
    (given, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(given));
        begun();
      }),
  );
  const { agent } = setUp([], { timeoutMs: 1000 }, { use: [guard] });
  const call = agent.call('Hi', { throwOnError: false });
  await guarding;
  clock.advanceSync(1000);
  expect(await call).toMatchObject({ reason: 'error', error: { code: 'CALL_TIMEOUT' } });
  expect(await agent.messages()).toEqual([]);
});

test.each([
  ['toolCalls', -1],
  ['tokens', Number.NaN],
  ['timeoutMs', '5'],
])('the option limits.%s rejects the value %s', (key, value) => {
  expect(() => setUp([], { [key]: value } as never)).toThrow(
    `ReActAgent: limits: ${key} must be a number of 0 or more`,
  );
});
