import {
  createUiMessageEncoder,
  toUiMessages,
  typedMessages,
  typedTransport,
  type AgentData,
  type AgentTools,
} from '@isoloop/core/stream';
import { isToolUIPart, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import { expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import {
  MemoryStore,
  ReActAgent,
  tool,
  toolResultsOf,
  type ContentBlock,
  type JsonValue,
  type Tool,
  type ToolContext,
} from '@isoloop/core';
import { keepDataParts, evictLargeResults } from '@isoloop/core/results';
import { joinTools, Toolkit } from '@isoloop/core/tool';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { ToolProgress } from '../agent-tools.ts';

interface Forecast {
  readonly city: string;
  readonly days: readonly { readonly day: Date; readonly high?: number }[];
  describe?(): string;
}

type Chart = { readonly title: string; readonly values: readonly number[] };

const noInput = { type: 'object' } as const;

const forecast = tool({
  name: 'forecast',
  description: 'Forecast for a city',
  input: z.object({ city: z.string(), days: z.number().default(1) }),
  execute: async ({ city }): Promise<Forecast> => ({
    city,
    days: [{ day: new Date('2026-03-01T00:00:00Z'), high: 12 }],
    describe: () => 'a method',
  }),
});
const text = tool({
  name: 'text',
  description: 'A text that looks like JSON',
  input: z.object({ city: z.string() }),
  preset: { city: 'Paris' },
  execute: (): string => '{"looks":"like JSON"}',
});
const count = tool({ name: 'count', description: '', input: noInput, execute: () => 42 as number });
const nothing = tool({ name: 'nothing', description: '', input: noInput, execute: async () => {} });
const pair = tool({
  name: 'pair',
  description: '',
  input: noInput,
  execute: (): [string, undefined, Map<string, bigint | boolean>] => [
    'a',
    undefined,
    new Map([['on', true]]),
  ],
});
const picture = tool({
  name: 'picture',
  description: '',
  input: noInput,
  execute: () => ({ content: [{ type: 'text', text: 'a picture' }] as ContentBlock[] }),
});
const chart = tool({
  name: 'chart',
  description: '',
  input: noInput,
  execute: (_input, { emit }: ToolContext<{ chart: Chart }>) => {
    emit('drawing');
    emit({ type: 'data-chart', id: 'c', data: { title: 'Rain', values: [1, 2] } });
    return null;
  },
});

const tools = [forecast, text, count, nothing, pair, picture, chart] as const;
const names = tools.map(({ name }) => name);

function newAgent(replies: readonly ScriptedReply[]) {
  return new ReActAgent({
    name: 'a',
    model: new ScriptedModel(replies),
    tools: [...tools],
    use: [keepDataParts()],
  });
}

type Agent = ReturnType<typeof newAgent>;
type Message = UIMessage<unknown, AgentData<Agent>, AgentTools<Agent>>;
type Parts = Message['parts'];

const calls = (...called: readonly string[]): ScriptedReply => ({
  toolCalls: called.map((name) => ({ name, id: name, input: { city: 'Rome' } })),
});

/** Creates a transport to an agent in this process, in place of a transport to a worker. */
function transportOf(agent: ReActAgent) {
  const resumed: string[] = [];
  const stream = (): ReadableStream<UIMessageChunk> => {
    const encoder = createUiMessageEncoder();
    const events = agent.stream('go').batches();
    return new ReadableStream<UIMessageChunk>({
      async start(controller) {
        for await (const batch of events)
          for (const chunk of encoder.encode(batch))
            controller.enqueue(JSON.parse(JSON.stringify(chunk)) as UIMessageChunk);
        controller.close();
      },
    });
  };
  return {
    resumed,
    resumeStreamIsReplay: true,
    sendMessages: async (_asked: object) => stream(),
    async reconnectToStream({ chatId }: { readonly chatId: string }) {
      resumed.push(chatId);
      return resumed.length > 1 ? null : stream();
    },
  };
}

/** Reads an answer with AI SDK's reader. Returns each state of the message. */
async function statesOf(stream: ReadableStream<UIMessageChunk>): Promise<readonly Message[]> {
  const states: Message[] = [];
  for await (const state of readUIMessageStream<Message>({ stream, terminateOnError: true }))
    states.push(structuredClone(state));
  return states;
}

async function answerOf(agent: ReActAgent): Promise<Message> {
  const transport = typedTransport(transportOf(agent));
  return (await statesOf(await transport.sendMessages({}))).at(-1)!;
}

async function reloaded(agent: ReActAgent): Promise<Message> {
  const history = JSON.parse(JSON.stringify(toUiMessages(await agent.messages()))) as Message[];
  return typedMessages(history).at(-1)!;
}

/** Returns the output of a tool. Its type is the one of the part. */
function outputOf<Name extends keyof AgentTools<Agent>>(
  parts: Parts,
  name: Name,
): AgentTools<Agent>[Name]['output'] {
  const part = parts.find(({ type }) => type === `tool-${name}`);
  if (!part || !isToolUIPart(part) || part.state !== 'output-available')
    throw new Error(`There is no output of ${name}: ${JSON.stringify(part)}`);
  return part.output as AgentTools<Agent>[Name]['output'];
}

const days = [{ day: '2026-03-01T00:00:00.000Z', high: 12 }];
const blocks = [{ type: 'text', text: 'a picture' }];

test('outputs have the type that the agent declares, live and after a reload', async () => {
  const agent = newAgent([calls(...names), 'Done.']);
  const live = await answerOf(agent);
  for (const { parts } of [live, await reloaded(agent)]) {
    expect(outputOf(parts, 'forecast')).toEqual({ city: 'Rome', days });
    expect(outputOf(parts, 'forecast').days[0]?.day.slice(0, 4)).toBe('2026');
    expect(outputOf(parts, 'text')).toBe('{"looks":"like JSON"}');
    expect(outputOf(parts, 'count').toFixed(1)).toBe('42.0');
    expect(outputOf(parts, 'nothing')).toBe('');
    expect(outputOf(parts, 'pair')).toEqual(['a', null, { on: true }]);
    expect(outputOf(parts, 'picture')).toEqual(blocks);
    expect(outputOf(parts, 'chart')).toBeNull();
    expect(parts.flatMap((part) => (part.type === 'data-chart' ? part.data.values : []))).toEqual([
      1, 2,
    ]);
  }
});

test('progress of a tool is a data part and never an output', async () => {
  const agent = newAgent([calls('chart'), 'Done.']);
  const states = await statesOf(await typedTransport(transportOf(agent)).sendMessages({}));
  const outputs = states.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'tool-chart' ? [part.output] : [])),
  );
  expect(new Set(outputs)).toEqual(new Set([undefined, null]));
  const progress = states.at(-1)!.parts.filter(({ type }) => type === 'data-tool-progress');
  const data: ToolProgress = { toolCallId: 'chart', progress: 'drawing' };
  expect(progress).toEqual([{ type: 'data-tool-progress', id: 'chart', data }]);
});

test('failed and denied calls have no output', async () => {
  const fails = tool({
    name: 'fails',
    description: '',
    input: noInput,
    execute: (): Error | { done: boolean } => new Error('no'),
  });
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([calls('fails'), 'Done.']),
    tools: [fails],
  });
  type Output = AgentTools<typeof agent>['fails']['output'];
  expectTypeOf<Output>().toEqualTypeOf<{ done: boolean }>();
  for (const { parts } of [await answerOf(agent), await reloaded(agent)])
    expect(parts[1]).toMatchObject({
      type: 'tool-fails',
      state: 'output-error',
      errorText: 'Error: no',
    });
});

test('an output that a hook replaced by a text is this text', async () => {
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([calls('forecast'), 'Done.']),
    tools: [forecast],
    use: [evictLargeResults({ store: new MemoryStore(), maxTokens: 5 })],
  });
  for (const { parts } of [await answerOf(agent), await reloaded(agent)])
    expect(parts[1]).toMatchObject({ output: expect.stringContaining('too long to show') });
});

test('the model still gets the output as JSON text', async () => {
  const agent = newAgent([calls('count', 'forecast'), 'Done.']);
  await agent.call('go');
  const messages = await agent.messages();
  expect(messages.flatMap(toolResultsOf)).toMatchObject([
    { output: '42' },
    { output: JSON.stringify({ city: 'Rome', days }) },
  ]);
});

test('an encoder with typed parts sends what a typed transport makes of dynamic ones', async () => {
  const model = new ScriptedModel([
    calls(...names, 'unknown'),
    { toolCalls: [{ name: 'text', id: 'broken', input: '{"a"' }], error: new Error('No.') },
  ]);
  const use = [keepDataParts()];
  const agent = new ReActAgent({ name: 'a', model, tools: [...tools], use });
  const dynamicEncoder = createUiMessageEncoder({ events: true });
  const typedEncoder = createUiMessageEncoder({ events: true, typed: true });
  const [dynamicChunks, typedChunks]: [object[], object[]] = [[], []];
  for await (const batch of agent.stream('go', { throwOnError: false }).batches()) {
    dynamicChunks.push(...dynamicEncoder.encode(batch));
    typedChunks.push(...typedEncoder.encode(batch));
  }
  const transport = typedTransport({
    sendMessages: async () =>
      new ReadableStream<object>({
        start(controller) {
          for (const chunk of dynamicChunks) controller.enqueue(chunk);
          controller.close();
        },
      }),
    reconnectToStream: async () => null,
  });
  const expected: unknown[] = [];
  for await (const chunk of await transport.sendMessages()) expected.push(chunk);
  expect(typedChunks).toEqual(expected);
  expect(JSON.stringify(typedChunks)).not.toContain('"dynamic"');
  expect(JSON.stringify(typedChunks)).toContain('data-tool-progress');
});

test('a typed transport keeps the fields and answers of its transport', async () => {
  const original = { ...transportOf(newAgent([calls('count'), 'Done.'])), closed: 0 };
  const transport = typedTransport({
    ...original,
    close() {
      this.closed += 1;
      original.closed = this.closed;
    },
  });
  const resumed = await transport.reconnectToStream({ chatId: 'one' });
  expect(outputOf((await statesOf(resumed!)).at(-1)!.parts, 'count')).toBe(42);
  expect(await transport.reconnectToStream({ chatId: 'two' })).toBeNull();
  expect(original.resumed).toEqual(['one', 'two']);
  expect(transport.resumeStreamIsReplay).toBe(true);
  transport.close();
  expect(original.closed).toBe(1);
});

test('tools that the provider ran stay dynamic', () => {
  const part = {
    type: 'dynamic-tool',
    toolName: 'web_search',
    toolCallId: 'w',
    state: 'output-available',
    input: {},
    output: [],
    providerExecuted: true,
  };
  expect(typedMessages([{ parts: [part] }])).toEqual([{ parts: [part] }]);
});

test('the types of inputs, outputs and data come from the agent', () => {
  type Tools = AgentTools<Agent>;
  expectTypeOf<keyof Tools>().toEqualTypeOf<(typeof names)[number]>();
  expectTypeOf<Tools['forecast']['input']>().toEqualTypeOf<{
    readonly city: string;
    readonly days?: number | undefined;
  }>();
  expectTypeOf<Tools['text']['input']>().toEqualTypeOf<{}>();
  expectTypeOf<Tools['count']>().toEqualTypeOf<{ input: unknown; output: number }>();
  expectTypeOf<Tools['text']['output']>().toEqualTypeOf<string>();
  expectTypeOf<Tools['nothing']['output']>().toEqualTypeOf<''>();
  expectTypeOf<Tools['chart']['output']>().toEqualTypeOf<null>();
  expectTypeOf<Tools['picture']['output']>().toEqualTypeOf<readonly ContentBlock[]>();
  expectTypeOf<Tools['forecast']['output']['days'][number]['day']>().toEqualTypeOf<string>();
  expectTypeOf<Tools['pair']['output'][1]>().toEqualTypeOf<null>();
  expectTypeOf<AgentData<Agent>['chart']>().toEqualTypeOf<Chart>();
  expectTypeOf<AgentData<Agent>['tool-progress']>().toEqualTypeOf<ToolProgress>();

  // `AgentTools` also accepts a function that returns the agent, and an object with an `agent`.
  expectTypeOf<AgentTools<typeof newAgent>>().toEqualTypeOf<Tools>();
  expectTypeOf<AgentTools<() => Promise<Agent>>>().toEqualTypeOf<Tools>();
  expectTypeOf<AgentTools<{ readonly agent: Agent }>>().toEqualTypeOf<Tools>();
});

test('tools without a known name do not change the types of the other tools, and a plain `ReActAgent` has general types', () => {
  const model = new ScriptedModel([]);
  const others: readonly Tool[] = [];
  const mixed = new ReActAgent({ name: 'a', model, tools: [count, ...others] });
  expectTypeOf<keyof AgentTools<typeof mixed>>().toEqualTypeOf<'count'>();
  const joined = new ReActAgent({ name: 'a', model, tools: joinTools([count], others) });
  expectTypeOf<AgentTools<typeof joined>['count']['output']>().toEqualTypeOf<number>();
  const kit = new ReActAgent({ name: 'a', model, tools: new Toolkit([count, chart]) });
  expectTypeOf<AgentTools<typeof kit>['count']['output']>().toEqualTypeOf<number>();
  const wide: ReActAgent = mixed;
  expectTypeOf<AgentTools<typeof wide>>().toEqualTypeOf<
    Record<string, { input: unknown; output: unknown }>
  >();
  expectTypeOf<AgentData<typeof wide>>().toEqualTypeOf<Record<string, unknown>>();
  expectTypeOf<
    UIMessage<unknown, AgentData<typeof wide>, AgentTools<typeof wide>>
  >().toExtend<UIMessage>();
  const plain = tool({
    name: 'plain',
    description: '',
    input: noInput,
    execute: (): JsonValue => 1,
  });
  const open = new ReActAgent({ name: 'a', model, tools: [plain] });
  expectTypeOf<AgentTools<typeof open>['plain']['output']>().toEqualTypeOf<JsonValue>();
  expect(mixed.tools.schemas()).toHaveLength(1);
});

/** Contains mistakes that the type checker must find. No test calls this function. */
export function mistakesOfTypes(part: Parts[number], agent: Agent): void {
  if (part.type === 'tool-forecast' && part.state === 'output-available') {
    part.output.city.toUpperCase();
    // @ts-expect-error: a date is a text in a message
    part.output.days[0]?.day.getTime();
    // @ts-expect-error: methods are left out
    part.output.describe?.();
    // @ts-expect-error: the tool returns no such field
    void part.output.rain;
  }
  // @ts-expect-error: the agent has no such tool
  if (part.type === 'tool-rain') return;
  // @ts-expect-error: no tool declares such data
  if (part.type === 'data-map') return;
  if (part.type === 'tool-text' && part.state === 'input-available') {
    // @ts-expect-error: the model does not write a preset
    void part.input.city;
  }
  tool({
    name: 'wrong',
    description: '',
    input: noInput,
    execute: (_input, { emit }: ToolContext<{ chart: Chart }>) => {
      emit('progress');
      // @ts-expect-error: the data does not fit its name
      emit({ type: 'data-chart', data: { title: 'Rain' } });
      // @ts-expect-error: the tool does not declare this name
      emit({ type: 'data-map', data: 1 });
    },
  });
  const wide: ReActAgent = agent;
  void wide;
}
