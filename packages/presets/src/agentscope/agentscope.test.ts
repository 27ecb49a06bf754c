import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  AgentError,
  type AgentEvent,
  ReActAgent,
  type AgentOptions,
  userMessage,
  textOf,
  tool,
  toolResultsOf,
} from '@isoloop/core';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { answerAtLimit, summarize, summaryFallback } from '@isoloop/core/answer';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { agentscope } from './agentscope.ts';

const search = tool({
  name: 'search',
  description: '',
  input: z.object({ query: z.string(), user: z.string() }),
  preset: { user: 'preset' },
  execute: ({ query, user }) => `${query} for ${user}`,
});

test('with agentscope(), hooks cannot change the pre-call event', async () => {
  const model = new ScriptedModel(['fine', 'fine']);
  const swap = {
    on: { 'pre-call': (event: { input: unknown }) => ({ ...event, input: [] }) as never },
  };
  const preset = new ReActAgent({ name: 'a', model, use: [agentscope(), swap] });
  await preset.call('kept');
  expect(textOf(model.requests[0]!.messages[0]!)).toBe('kept');
  const own = new ReActAgent({ name: 'a', model, use: [swap] });
  await expect(own.call('gone')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

test('with agentscope(), a parameter from the model overrides a preset parameter', async () => {
  const reply = { toolCalls: [{ name: 'search', input: { query: 'x', user: 'model' } }] };
  const model = new ScriptedModel([reply, 'done', reply, 'done']);
  await new ReActAgent({ name: 'a', model, tools: [search], use: [agentscope()] }).call('go');
  expect(JSON.stringify(model.requests[1]!.messages)).toContain('x for model');
  await new ReActAgent({ name: 'a', model, tools: [search] }).call('go');
  expect(JSON.stringify(model.requests[3]!.messages)).toContain('x for preset');
});

test('agentscope() runs ten rounds and then requests a summary', async () => {
  const round = { toolCalls: [{ name: 'search', input: { query: 'x' } }] };
  const model = new ScriptedModel([...Array.from({ length: 10 }, () => round), 'summed up']);
  const result = await new ReActAgent({
    name: 'a',
    model,
    tools: [search],
    use: [agentscope()],
  }).call('go');
  expect(result).toMatchObject({ reason: 'max-iterations', text: 'summed up', iterations: 10 });
  const last = model.requests.at(-1)!;
  expect(last.tools).toEqual([]);
  expect(textOf(last.messages.at(-1)!)).toContain('Your steps are used up.');
});

test.for([
  [[agentscope()], undefined, 1],
  [[agentscope()], Infinity, 3],
  [[agentscope()], 2, 2],
  [[], undefined, 3],
] as const)(
  'with agentscope(), tools run one at a time, unless an option of the agent changes this (%#)',
  async ([use, parallelTools, most]) => {
    let running = 0;
    let seen = 0;
    const slow = tool({
      name: 'slow',
      description: '',
      input: {},
      async execute() {
        seen = Math.max(seen, (running += 1));
        for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
        running -= 1;
      },
    });
    const toolCalls = Array.from({ length: 3 }, () => ({ name: 'slow' }));
    const model = new ScriptedModel([{ toolCalls }, 'done']);
    const limits = parallelTools === undefined ? {} : { parallelTools };
    await new ReActAgent({ name: 'a', model, tools: [slow], use, limits }).call('go');
    expect(seen).toBe(most);
  },
);

const round = { toolCalls: [{ name: 'search', input: { query: 'x' } }] };
const fixed = 'Maximum iterations (1) reached. Unable to generate summary.';
const quoting = 'Maximum iterations (1) reached. Error generating summary: ';

function limited(last: ScriptedReply, options: Partial<AgentOptions> = {}): ReActAgent {
  const model = new ScriptedModel([round, last, 'fine']);
  return new ReActAgent({
    name: 'a',
    model,
    tools: [search],
    ...options,
    use: [agentscope(), ...(options.use ?? [])],
    limits: { iterations: 1, ...options.limits },
  });
}

test.for([
  new AgentError('MODEL_SERVER', 'down, apiKey=a1b2c3d4e5'),
  new AgentError('MODEL_RATE_LIMITED', 'down, apiKey=a1b2c3d4e5'),
  new AgentError('CIRCUIT_OPEN', 'down, apiKey=a1b2c3d4e5'),
  new TypeError('down, apiKey=a1b2c3d4e5'),
])(
  'agentscope() replaces a failed summary with a text that quotes the error without its secrets: %s',
  async (error) => {
    const agent = limited([{ text: 'Half a ', error }]);
    const stream = agent.stream('go');
    const events: AgentEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(orderFaults(events)).toEqual([]);
    const text = `${quoting}down, apiKey=***`;
    const { code } = AgentError.from(error);
    expect(await stream.result).toMatchObject({ reason: 'max-iterations', text, error: { code } });
    expect(JSON.stringify(events)).not.toContain('a1b2c3d4e5');
    expect(events.filter(({ type }) => type === 'step-reset')).toHaveLength(1);
    expect(historyFaults(await agent.messages())).toEqual([]);
    expect((await agent.messages()).map(textOf).filter(Boolean)).toEqual(['go', text]);
    expect((await agent.call('again')).reason).toBe('stop');
  },
);

test.for<[what: string, options: Partial<AgentOptions>]>([
  ['summarize() with a prompt', { onLimit: summarize({ prompt: 'Sum up.' }) }],
  ['summarize() with messages', { onLimit: summarize({ messages: () => [userMessage('?')] }) }],
  ['another middleware’s `onLimit`', { use: [{ defaults: { onLimit: summarize() } }] }],
])('the fallback of agentscope() also holds for %s', async ([, options]) => {
  const agent = limited({ error: new AgentError('MODEL_SERVER', 'down') }, options);
  expect(await agent.call('go')).toMatchObject({
    reason: 'max-iterations',
    text: `${quoting}down`,
    error: { code: 'MODEL_SERVER' },
  });
});

test('the fallback of agentscope() can be replaced and removed by its name', async () => {
  const error = new AgentError('MODEL_SERVER', 'down');
  const worded = limited({ error }, { use: [summaryFallback({ text: 'Sorry.' })] });
  expect((await worded.call('go')).text).toBe('Sorry.');
  const removed = limited({ error }, { use: [answerAtLimit()] });
  await expect(removed.call('go')).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

test('agentscope() also replaces an empty summary, and a summary that only calls a tool', async () => {
  expect(await limited('').call('go')).toMatchObject({ reason: 'max-iterations', text: fixed });
  expect(await limited(round).call('go')).toMatchObject({ reason: 'max-iterations', text: fixed });
});

test.for([
  ['abort', 'aborted'],
  ['interrupt', 'interrupted'],
  ['time-out', 'error'],
] as const)('during a summary, an %s ends the call as %s', async ([how, reason]) => {
  const controller = new AbortController();
  const agent = limited([{ text: 'Half ', hang: true }], {
    limits: how === 'time-out' ? { timeoutMs: 50 } : {},
  });
  agent.addHook({
    on: {
      'summary-chunk': () => {
        if (how === 'abort') controller.abort(new Error('enough'));
        if (how === 'interrupt') agent.interrupt();
      },
    },
  });
  const { signal } = controller;
  const result = await agent.call('go', { signal, throwOnError: false });
  expect(result.reason).toBe(reason);
  expect(result.error?.code).toBe(how === 'time-out' ? 'CALL_TIMEOUT' : undefined);
  expect(result.text).not.toContain('Maximum');
});

test('with agentscope(), a failing hook at the limit fails the call, and a guard rejects the call', async () => {
  const broken = (): void => {
    throw new Error('broken');
  };
  const hooked = limited('in short', { use: [{ on: { 'pre-summary': broken } }] });
  await expect(hooked.call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  const guarded = limited([{ error: new AgentError('GUARD_REJECTED', 'Not allowed.') }]);
  expect(await guarded.call('go')).toMatchObject({ reason: 'rejected', text: 'Not allowed.' });
});

test('without agentscope(), a failed summary fails the call', async () => {
  const { agent } = scriptedAgent([[{ error: new AgentError('MODEL_SERVER', 'down') }]], {
    limits: { iterations: 0 },
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'MODEL_SERVER' });
});

/** Creates an agent whose first two replies call `a`, `b` and `c`. The wrapper fails at `b`. */
function setUp(thrown: unknown, parallelTools?: number) {
  const ran: string[] = [];
  const tools = ['a', 'b', 'c'].map((name) =>
    tool({ name, description: '', input: {}, execute: () => `${name} ${ran.push(name)}` }),
  );
  const calls = { toolCalls: tools.map(({ name }) => ({ name })) };
  const model = new ScriptedModel([calls, calls, 'Done.', 'Later.']);
  let isBroken = true;
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools,
    ...(parallelTools && { limits: { parallelTools } }),
    use: [
      agentscope(),
      {
        wrapTool: async (call, next) => {
          if (call.tool.name !== 'b' || !isBroken) return next(call);
          isBroken = false;
          throw thrown;
        },
      },
    ],
  });
  const results = async () => {
    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    return messages.flatMap(toolResultsOf).map(({ name, output }) => `${name}: ${String(output)}`);
  };
  return { agent, ran, results };
}

const failed = 'Error: Tool execution failed: no line';

test('with agentscope(), an exception outside a tool gives the calls that have not ended an error result, and the model is asked again', async () => {
  const { agent, ran, results } = setUp(new Error('no line'));
  expect((await agent.call('Go')).text).toBe('Done.');
  expect(await results()).toEqual([
    'a: a 1',
    `b: ${failed}`,
    `c: ${failed}`,
    'a: a 2',
    'b: b 3',
    'c: c 4',
  ]);
  expect(ran).toEqual(['a', 'a', 'b', 'c']);
});

test('with agentscope() and parallel tools, a call that runs already keeps its own result', async () => {
  const { agent, results } = setUp(new Error('no line'), Infinity);
  expect((await agent.call('Go')).text).toBe('Done.');
  expect((await results()).slice(0, 3).toSorted()).toEqual([
    'a: a 1',
    `b: ${failed}`,
    expect.stringMatching(/^c: /),
  ]);
});

test('with agentscope(), a fatal error of a tool still ends the call, and no call stays open', async () => {
  const { agent, results } = setUp(new AgentError('TOOL_ERROR', 'on fire'));
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'TOOL_ERROR' });
  expect(await results()).toEqual(['a: a 1', 'b: Error: on fire', 'c: Interrupted before it ran.']);
});
