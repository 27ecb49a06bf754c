import { expect, test } from 'vitest';
import * as z from 'zod';
import { outputGuards, lengthRule } from '@isoloop/guards';
import type { Middleware } from '../agent/middleware.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { Hook } from '../event/hook.ts';
import { assistantMessage, toolMessage, userMessage, textOf } from '../message/msg.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { createUiMessageEncoder } from '../stream/ui/ui-message-encoder.ts';
import { textStream } from '../stream/text-stream.ts';
import { tool, type ToolOptions } from '../tool/tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import type { ReActAgent } from '../react-agent/react-agent.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { structured } from '../output/structured.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';

const input = { type: 'object', properties: { q: { type: 'string' } } } as const;
const make = (name: string, options: Partial<ToolOptions<typeof input>> = {}) =>
  tool({
    name,
    description: name,
    input,
    returnDirect: true,
    execute: (given) => `${name}: ${(given as { q: string }).q}`,
    ...options,
  });
const find = make('find');
const plain = make('plain', { returnDirect: false });
const json = make('json', { execute: () => ({ n: 1 }) });
const broken = make('broken', { execute: () => Promise.reject(new Error('no disk')) });
const approved = make('approved', { needsApproval: true });
const external = tool({
  name: 'external',
  description: 'Runs elsewhere',
  input,
  returnDirect: true,
});
const draw = make('draw', {
  execute: () => ({
    content: [
      { type: 'text', text: 'A cat.' },
      { type: 'image', source: { type: 'url', url: 'https://a.test/cat.png' } },
    ],
  }),
});
const tools = [find, plain, json, broken, approved, external, draw];

const calls = (...names: string[]): ScriptedReply => ({
  text: 'I look.',
  toolCalls: names.map((name) => ({ name, input: { q: name } })),
});

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  return scriptedAgent(replies, { tools, ...options });
}

async function run(
  agent: ReActAgent,
  given?: Parameters<ReActAgent['stream']>[0],
  options?: Parameters<ReActAgent['stream']>[1],
) {
  const stream = agent.stream(given, options);
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  return { events, result: await stream.result };
}

test('the result of a returnDirect tool is the answer, and no further model request is made', async () => {
  const { agent, model } = setUp([calls('find'), 'next']);
  const { events, result } = await run(agent, 'go');
  expect(result).toMatchObject({
    reason: 'return-direct',
    text: 'find: find',
    iterations: 1,
    toolsUsed: ['find'],
  });
  expect(result.message).toMatchObject({
    role: 'assistant',
    metadata: { reason: 'return-direct' },
  });
  expect(events.slice(-3)).toMatchObject([
    { type: 'reasoning-chunk', delta: 'find: find', blockId: `${result.message.id}:0` },
    { type: 'post-call' },
    { type: 'run-end' },
  ]);
  const log = await agent.messages();
  expect(log.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(log.at(-1)).toEqual(result.message);
  expect(historyFaults(log)).toEqual([]);
  expect(await agent.call('and now?')).toMatchObject({ reason: 'stop', text: 'next' });
  expect(model.requests).toHaveLength(2);
});

test.for<[names: string[], text: string | undefined]>([
  [['find', 'find'], '["find: find","find: find"]'],
  [['json', 'find'], '[{"n":1},"find: find"]'],
  [['json'], '{"n":1}'],
  [['find', 'plain'], undefined],
  [['find', 'broken'], undefined],
  [['broken'], undefined],
  [['find', 'nowhere'], undefined],
])('the answer to tool calls of %j is %j', async ([names, text]) => {
  const { agent } = setUp([calls(...names), 'the model’s']);
  const { result } = await run(agent, 'go');
  expect([result.reason, result.text]).toEqual(
    text === undefined ? ['stop', 'the model’s'] : ['return-direct', text],
  );
});

test('several direct results are in request order, even if they end in another order', async () => {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const slow = make('slow', { execute: () => gate.then(() => 'slow') });
  const fast = make('fast', { execute: () => (release(), 'fast') });
  const { agent } = setUp([calls('slow', 'fast')], { tools: [slow, fast] });
  expect((await run(agent, 'go')).result.text).toBe('["slow","fast"]');
});

test('media in a direct result are part of the answer', async () => {
  const { agent } = setUp([calls('draw')]);
  const { result } = await run(agent, 'go');
  expect(result.text).toBe('A cat.');
  expect(result.message.content.map(({ type }) => type)).toEqual(['text', 'image']);
});

test.for<
  [
    agentSays: AgentOptions['returnDirect'],
    callSays: AgentOptions['returnDirect'],
    name: string,
    reason: string,
  ]
>([
  [true, undefined, 'plain', 'return-direct'],
  [false, undefined, 'find', 'stop'],
  [true, false, 'find', 'stop'],
  [undefined, true, 'plain', 'return-direct'],
  [false, true, 'plain', 'return-direct'],
  [() => undefined, undefined, 'find', 'return-direct'],
  [() => undefined, undefined, 'plain', 'stop'],
  [({ output }) => String(output).startsWith('plain'), undefined, 'plain', 'return-direct'],
  [(_result, reply) => textOf(reply) === 'I look.', undefined, 'plain', 'return-direct'],
  [(_result, reply) => textOf(reply) === '', undefined, 'find', 'stop'],
])(
  '`returnDirect` of the agent is %s and of the call %s: a tool call of %s ends with %s',
  async ([agentSays, callSays, name, reason]) => {
    const { agent, model } = setUp([calls(name), 'the model’s'], {
      ...(agentSays !== undefined && { returnDirect: agentSays }),
    });
    const result = await agent.call('go', callSays === undefined ? {} : { returnDirect: callSays });
    expect(result.reason).toBe(reason);
    // The option `returnDirect` must not reach the model.
    expect(model.requests[0]).not.toHaveProperty('returnDirect');
  },
);

test('hooks can change a direct result, and the answer does not count as an iteration', async () => {
  const result = {
    type: 'tool_result',
    toolUseId: 'call_1',
    name: 'find',
    output: 'Changed.',
    state: 'success',
  } as const;
  const hooks: Hook[] = [{ on: { 'post-acting': (event) => ({ ...event, result }) } }];
  const { agent } = setUp([calls('find')], { use: [...hooks], limits: { iterations: 1 } });
  expect((await run(agent, 'go')).result).toMatchObject({
    reason: 'return-direct',
    text: 'Changed.',
  });
});

test('a direct result that a hook turns into an error goes to the model', async () => {
  const failed = {
    type: 'tool_result',
    toolUseId: 'call_1',
    name: 'find',
    output: 'No.',
    state: 'error',
  } as const;
  const { agent } = setUp([calls('find'), 'the model’s'], {
    use: [{ on: { 'post-acting': (event) => ({ ...event, result: failed }) } }],
  });
  expect((await run(agent, 'go')).result).toMatchObject({ reason: 'stop', text: 'the model’s' });
});

test('approved and external results become the answer when all are complete, also in another process', async () => {
  const first = setUp([calls('find', 'approved', 'external')]);
  expect((await run(first.agent, 'go')).result.pending).toHaveLength(2);
  const { agent } = setUp([]);
  await loadState(agent, structuredClone(await saveState(first.agent)));
  const half = await run(agent, [{ toolUseId: 'call_2', type: 'approve' }]);
  expect(half.result.reason).toBe('suspended');
  const { result } = await run(agent, [{ toolUseId: 'call_3', type: 'result', output: 'given' }]);
  expect(result).toMatchObject({
    reason: 'return-direct',
    text: '["find: find","approved: approved","given"]',
  });
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test.for<[type: 'reject' | 'result', reason: string]>([
  ['reject', 'stop'],
  ['result', 'stop'],
])('a tool call with a %s instead of a success goes to the model', async ([type, reason]) => {
  const { agent } = setUp([calls('external'), 'the model’s']);
  await agent.call('go');
  const decision =
    type === 'reject' ? { type } : ({ type, output: 'down', state: 'error' } as const);
  expect((await run(agent, [{ toolUseId: 'call_1', ...decision }])).result.reason).toBe(reason);
});

test('a log that ends with direct results continues with them as the answer; a new message goes to the model', async () => {
  const log = [
    userMessage('go'),
    assistantMessage([{ type: 'tool_use', id: 'x', name: 'find', input: {} }]),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'x',
      name: 'find',
      output: 'found',
      state: 'success',
    }),
  ];
  const memory = new InMemoryMemory();
  await memory.append(log);
  expect((await run(setUp([], { memory }).agent)).result).toMatchObject({
    reason: 'return-direct',
    text: 'found',
  });
  const other = new InMemoryMemory();
  await other.append(log);
  expect((await run(setUp(['the model’s'], { memory: other }).agent, 'and?')).result.text).toBe(
    'the model’s',
  );
});

test('the model answers messages that arrive while a returnDirect tool runs', async () => {
  const { agent, model } = setUp([calls('find'), 'the model’s']);
  agent.addHook({
    on: { 'pre-acting': () => void agent.interrupt({ mode: 'inject', messages: 'and this?' }) },
  });
  expect((await run(agent, 'go')).result.text).toBe('the model’s');
  expect(model.requests[1]!.messages.map(textOf).at(-1)).toBe('and this?');
});

test.for<['tool' | 'prompt', ScriptedReply]>([
  ['tool', { toolCalls: [{ name: 'generate_response', input: { n: 2 } }] }],
  ['prompt', '{"n":2}'],
])(
  'with structured output (mode %s), the value comes from the model, not from a returnDirect tool',
  async ([mode, reply]) => {
    const { agent } = setUp([calls('find'), reply]);
    const output = structured(z.object({ n: z.number() }), { mode });
    expect(await agent.call('go', { output, returnDirect: true })).toMatchObject({
      reason: 'stop',
      output: { n: 2 },
    });
  },
);

test('an interrupt, an abort and stop() in a hook take precedence over a direct answer', async () => {
  const stopped = setUp([calls('find')], {
    use: [{ on: { 'post-acting': ({ stop }) => stop() } }],
  });
  expect((await run(stopped.agent, 'go')).result.reason).toBe('stopped-by-hook');
  const interrupted = setUp([calls('find')]);
  interrupted.agent.addHook({ on: { 'post-acting': () => void interrupted.agent.interrupt() } });
  expect((await run(interrupted.agent, 'go')).result.reason).toBe('interrupted');
});

test('a hook that jumps to the model causes another model request instead of a direct answer', async () => {
  const hooks: Hook[] = [{ on: { 'post-acting': ({ jumpTo }) => jumpTo('model') } }];
  const { agent } = setUp([calls('find'), 'the model’s'], { use: [...hooks] });
  expect((await run(agent, 'go')).result).toMatchObject({ reason: 'stop', text: 'the model’s' });
});

test('a post-call hook may change a direct answer, and a step-reset announces the change', async () => {
  const content = [{ type: 'text', text: 'Other.' }] as const;
  const hooks: Hook[] = [
    { on: { 'post-call': (event) => ({ ...event, message: { ...event.message, content } }) } },
  ];
  const { agent } = setUp([calls('find')], { use: [...hooks] });
  const { events, result } = await run(agent, 'go');
  expect(result.text).toBe('Other.');
  expect(events.map(({ type }) => type).slice(-4)).toEqual([
    'reasoning-chunk',
    'step-reset',
    'post-call',
    'run-end',
  ]);
});

test('output guards check a direct answer before readers get it', async () => {
  const secret = {
    name: 'secret',
    find: (text: string) =>
      [...text.matchAll(/find/g)].map(({ index }) => ({
        start: index,
        end: index + 4,
        replacement: '****',
      })),
  };
  const { agent } = setUp([calls('find')], { use: [outputGuards([secret])] });
  const { events, result } = await run(agent, 'go');
  expect(result).toMatchObject({ reason: 'return-direct', text: '****: ****' });
  expect(events.filter(({ type }) => type === 'step-reset')).toEqual([]);
});

test('an output guard can reject a direct answer, or ask the model for another answer', async () => {
  const never = { name: 'never', review: () => ({ category: 'OUTPUT_REJECTED' as const }) };
  const rejected = setUp([calls('find')], { use: [outputGuards([never])] });
  const first = await rejected.agent.call('go').catch((error: unknown) => error);
  expect(first).toMatchObject({ reason: 'rejected', error: { code: 'GUARD_REJECTED' } });
  const longer = {
    name: 'longer',
    review: (text: string) => (text.startsWith('find') ? { retry: 'Say more.' } : { text }),
  };
  const asked = setUp([calls('find'), 'the model’s'], { use: [outputGuards([longer])] });
  expect((await run(asked.agent, 'go')).result).toMatchObject({
    reason: 'stop',
    text: 'the model’s',
  });
});

test('lengthRule() shortens a direct answer, or marks it as too short', async () => {
  const long = setUp([calls('find')], {
    use: [outputGuards([lengthRule({ max: 4, mark: '…' })])],
  });
  expect((await run(long.agent, 'go')).result.text).toBe('fin…');
  const short = setUp([calls('find')], { use: [outputGuards([lengthRule({ min: 99 })])] });
  const { message } = (await run(short.agent, 'go')).result;
  expect(message.metadata).toMatchObject({
    reason: 'return-direct',
    warnings: [{ stage: 'lengthRule', min: 99 }],
  });
  const empty = make('empty', { execute: () => undefined });
  const marked = { name: 'mark', review: (text: string) => ({ text: `${text}(nothing)` }) };
  const silent = setUp([calls('empty')], { tools: [empty], use: [outputGuards([marked])] });
  expect((await run(silent.agent, 'go')).result.text).toBe('(nothing)');
});

test('`wrapReply` can discard a direct answer, so that the model answers', async () => {
  const reasons: (string | undefined)[] = [];
  const discard: Middleware = {
    wrapReply: async (reply, next) => {
      reasons.push(reply.reason);
      return reply.request ? next(reply) : { to: 'model' };
    },
  };
  const { agent } = setUp([calls('find'), 'the model’s'], { use: [discard] });
  expect((await run(agent, 'go')).result.text).toBe('the model’s');
  expect(reasons).toEqual([undefined, 'return-direct', undefined]);
});

test('text streams and UI streams contain the text of a direct answer', async () => {
  let text = '';
  for await (const piece of textStream(setUp([calls('find')]).agent.stream('go'))) text += piece;
  expect(text).toBe('I look.\n\nfind: find');
  const encoder = createUiMessageEncoder();
  const chunks = [];
  for await (const batch of setUp([calls('find')])
    .agent.stream('go')
    .batches())
    chunks.push(...encoder.encode(batch));
  expect(chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []))).toEqual([
    'I ',
    'look.',
    'find: find',
  ]);
  expect(chunks.map(({ type }) => type).slice(-5)).toEqual([
    'text-start',
    'text-delta',
    'text-end',
    'finish-step',
    'finish',
  ]);
});

test('an invalid `returnDirect` is rejected in tool(), in the agent’s options and in call options', async () => {
  expect(() => make('x', { returnDirect: 'yes' as never })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
  );
  expect(() => setUp([], { returnDirect: 'yes' as never })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }) as Error,
  );
  await expect(setUp([]).agent.call('go', { returnDirect: 'yes' as never })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
});

test.for(
  (['interrupt', 'pause', 'abort'] as const).flatMap((how) =>
    [false, true].map((jumps) => [how, jumps] as const),
  ),
)(
  'after %s at any event of a run that ends without the model (by a jump: %s), the next call works',
  async ([how, jumps]) => {
    const hooks: Hook[] = jumps
      ? [{ on: { 'post-acting': ({ jumpTo }) => jumpTo('end', 'Enough.') } }]
      : [];
    for (let at = 0, last = false; !last; at += 1) {
      const controller = new AbortController();
      const { agent } = setUp([calls('find', 'json'), 'next', 'next'], { use: [...hooks] });
      const stream = agent.stream('go', { signal: controller.signal });
      const events: AgentEvent[] = [];
      for await (const event of stream) {
        if (events.push(event) - 1 !== at) continue;
        if (how === 'abort') controller.abort();
        else agent.interrupt(how === 'pause' ? { mode: 'pause' } : {});
      }
      expect(orderFaults(events), `${how} after ${at}`).toEqual([]);
      const { reason } = await stream.result;
      const after = await run(agent, reason === 'suspended' ? undefined : 'again');
      expect(after.result.reason).toMatch(/^(stop|return-direct|stopped-by-hook)$/);
      expect(historyFaults(await agent.messages())).toEqual([]);
      last = at >= events.length - 1;
    }
  },
);
