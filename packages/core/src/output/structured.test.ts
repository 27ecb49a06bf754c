import * as z from 'zod';
import { expect, expectTypeOf, test } from 'vitest';
import {
  InMemoryMemory,
  ReActAgent,
  SessionMemory,
  MemoryStore,
  textOf,
  tool,
  toolResultsOf,
  toolUsesOf,
  type AgentEvent,
  type AgentOptions,
  type Memory,
  type Middleware,
  type Msg,
  type Run,
} from '@isoloop/core';
import { structured, type StructuredOptions } from '@isoloop/core/output';
import { allowTools } from '@isoloop/core/tool';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';
import { eventsOf } from '@test/support/scripted-agent.ts';

const city = z.object({ name: z.string(), people: z.number() });
const rome = { name: 'Rome', people: 2_800_000 };
const bad = { name: 'Rome', people: 'many' };

const lookUp = tool({
  name: 'look_up',
  description: 'Looks a word up',
  input: z.object({ word: z.string() }),
  execute: ({ word }) => `about ${word}`,
});

const give = (input: unknown, id?: string) => ({
  name: 'generate_response',
  input: input as {},
  ...(id && { id }),
});
const look = { name: 'look_up', input: { word: 'Rome' } };
const chosen = { name: 'generate_response' };

interface SetUp extends Partial<AgentOptions> {
  readonly takesTools?: boolean;
}

function setUp(replies: readonly ScriptedReply[], { takesTools = true, ...options }: SetUp = {}) {
  const model = new ScriptedModel(replies, { features: { tools: takesTools } });
  const memory: Memory = new InMemoryMemory();
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [lookUp], ...options });
  return { agent, model, memory };
}

/** Returns a line for each message, with one word or text for each block. */
function shape(messages: readonly Msg[]): readonly string[] {
  return messages.map(({ role, content }) => {
    const words = content.map((block) => {
      if (block.type === 'text') return block.text;
      if (block.type === 'tool_use') return `call ${block.name}`;
      return block.type === 'tool_result' ? `result ${block.name}` : block.type;
    });
    return `${role}: ${words.join(', ')}`;
  });
}

/**
 * Checks that each tool call has its result directly after its message, and that each result has
 * its tool call.
 */
function expectValid(messages: readonly Msg[]): void {
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'tool') expect([...open]).toEqual([]);
    for (const { toolUseId } of toolResultsOf(message)) expect(open.delete(toolUseId)).toBe(true);
    for (const { id } of toolUsesOf(message)) open.add(id);
  }
  expect([...open]).toEqual([]);
}

/** Checks that the log and all requests to the model are valid. */
async function expectAllValid(memory: Memory, model: ScriptedModel): Promise<void> {
  expectValid(await memory.read());
  for (const { messages } of model.requests) expectValid(messages);
}

const stored = `assistant: ${JSON.stringify(rome)}`;

const hidingParts: readonly [string, Middleware][] = [
  [
    'a request',
    {
      wrapRequest: (draft, next, run) => {
        run.tools.set(allowTools(run.tools.current, []));
        return next({ ...draft, tools: run.tools.schemas });
      },
    },
  ],
  ['a hook', { on: { 'pre-reasoning': hideTools } }],
];

function hideTools(_event: unknown, run: Run): void {
  run.tools.set(allowTools(run.tools.current, []));
}

test.each(hidingParts)(
  'middleware that hides tools in %s leaves the tool for the value',
  async (_where, part) => {
    const { agent, model } = setUp([{ toolCalls: [give(rome)] }], { use: [part] });
    const { output } = await agent.call('Rome?', { output: structured(city) });
    expect(output).toEqual(rome);
    expect(model.requests).toHaveLength(1);
  },
);

test('in tool mode, a value in the first reply is accepted, and its request has no tool choice', async () => {
  const { agent, model, memory } = setUp([{ thinking: 'Easy.', toolCalls: [give(rome)] }]);
  const result = await agent.call('Which city?', { output: structured(city) });
  expectTypeOf(result.output).toEqualTypeOf<{ name: string; people: number } | undefined>();
  expect(result).toMatchObject({
    output: rome,
    reason: 'stop',
    text: JSON.stringify(rome),
    iterations: 1,
    toolsUsed: [],
  });
  expect(model.requests[0]!.tools.map(({ name }) => name).toSorted()).toEqual([
    'generate_response',
    'look_up',
  ]);
  expect(model.requests[0]).not.toHaveProperty('toolChoice');
  const messages = await memory.read();
  expect(shape(messages)).toEqual([
    'user: Which city?',
    `assistant: thinking, ${JSON.stringify(rome)}`,
  ]);
  expect(messages[1]).toMatchObject({
    content: [{ thinking: 'Easy.' }, {}],
    metadata: { output: rome },
  });
  expect(messages[1]).toEqual(result.message);
  model.assertDone();
});

test('in tool mode, a reply without the value gets a reminder, and the next request forces the output tool', async () => {
  const { agent, model, memory } = setUp([
    { thinking: 'First.', text: 'Rome!' },
    { toolCalls: [give(rome)] },
  ]);
  const result = await agent.call('Which city?', { output: structured(city), temperature: 0 });
  expect(result).toMatchObject({
    output: rome,
    usage: { inputTokens: 20, outputTokens: 10 },
    iterations: 2,
  });
  const [first, second] = model.requests;
  expect(first!.toolChoice).toBeUndefined();
  expect(second).toMatchObject({ toolChoice: chosen, temperature: 0 });
  expect(shape(second!.messages)).toEqual([
    'user: Which city?',
    'assistant: thinking, Rome!',
    'user: Give your answer now: call "generate_response".',
  ]);
  expect(shape(await memory.read())).toEqual([
    'user: Which city?',
    `assistant: thinking, ${JSON.stringify(rome)}`,
  ]);
  await expectAllValid(memory, model);
});

test('in tool mode, the model gets the issues of an invalid value, in three attempts at most', async () => {
  const { agent, model, memory } = setUp([
    { toolCalls: [give(bad)] },
    { toolCalls: [give('{"name":')] },
    { toolCalls: [give(rome)] },
  ]);
  const result = await agent.call('Which city?', { output: structured(city) });
  expect(result.output).toEqual(rome);
  const [fits, json] = model.requests[2]!.messages.flatMap(toolResultsOf);
  expect(fits).toMatchObject({ state: 'error', output: expect.stringMatching(/people: /) });
  expect(json).toMatchObject({ state: 'error', output: expect.stringMatching(/not valid JSON/) });
  expect(shape(await memory.read())).toEqual(['user: Which city?', stored]);
  await expectAllValid(memory, model);
});

test('in tool mode, after the last attempt the call fails, and the log keeps the raw text', async () => {
  const replies = [
    { toolCalls: [give(bad)] },
    { toolCalls: [look, give(bad)] },
    { toolCalls: [give('{"name":')] },
  ];
  const { agent, model, memory } = setUp(replies);
  await expect(agent.call('Which city?', { output: structured(city) })).rejects.toMatchObject({
    code: 'OUTPUT_INVALID',
    message: expect.stringContaining('not valid JSON'),
    details: { issues: ['it is not valid JSON'], text: '{"name":' },
  });
  model.assertDone();
  expect(shape(await memory.read())).toEqual([
    'user: Which city?',
    'assistant: call look_up',
    'tool: result look_up',
    'assistant: {"name":',
  ]);
  await expectAllValid(memory, model);

  const other = setUp([{ toolCalls: [give(bad)] }]);
  const result = await other.agent.call('Which city?', {
    output: structured(city, { attempts: 1 }),
    throwOnError: false,
  });
  expect(result).toMatchObject({
    reason: 'error',
    text: JSON.stringify(bad),
    error: { code: 'OUTPUT_INVALID' },
  });
  expect(result).not.toHaveProperty('output');
  expect(shape(await other.memory.read())).toEqual([
    'user: Which city?',
    `assistant: ${JSON.stringify(bad)}`,
  ]);
});

// llama.cpp with a small model: test/fixtures/llama-cpp/tools-forced.json
test.for([
  [city, rome, JSON.stringify(rome)],
  [z.array(z.string()), ['Rome'], '{"response":["Rome"]}'],
  [z.string(), 'Rome', 'Here: {"response":"Rome"}'],
] as const)(
  'after a forced call that came back as text, the model gets the schema alone, and %j is read',
  async ([schema, value, text]) => {
    const replies = ['Rome.', 'The function time takes a zone.', '{"name":', text];
    const features = { tools: true, responseSchema: true };
    const model = new ScriptedModel(replies, { features });
    const memory = new InMemoryMemory();
    const agent = new ReActAgent({ name: 'a', model, memory, tools: [lookUp] });
    const result = await agent.call('Which city?', { output: structured(schema) });
    expect(result).toMatchObject({ reason: 'stop', output: value, text: JSON.stringify(value) });
    const asked = model.requests.map(({ toolChoice, tools, responseSchema }) => [
      toolChoice,
      tools.length,
      responseSchema?.['type'],
    ]);
    const asText = [undefined, 0, 'object'];
    expect(asked).toEqual([[undefined, 2, undefined], [chosen, 2, undefined], asText, asText]);
    expect(textOf(model.requests[2]!.messages[0]!)).toContain('JSON Schema');
    expect(model.requests.slice(2).map(({ messages }) => textOf(messages.at(-1)!))).toEqual([
      'Give your answer now, as JSON alone.',
      expect.stringContaining('it is not valid JSON'),
    ]);
    expect(shape(await memory.read())).toEqual([
      'user: Which city?',
      `assistant: ${JSON.stringify(value)}`,
    ]);
    await expectAllValid(memory, model);
  },
);

test('a forced call that came back as text is asked for again, if no schema may be sent', async () => {
  for (const [takesSchema, responseSchema, last] of [
    [true, false, chosen],
    [false, undefined, chosen],
    [false, true, undefined],
  ] as const) {
    const features = { tools: true, responseSchema: takesSchema };
    const model = new ScriptedModel(['Rome.', 'Rome.', 'Rome.'], { features });
    const agent = new ReActAgent({ name: 'a', model });
    const options = { attempts: 2, ...(responseSchema !== undefined && { responseSchema }) };
    const failed = agent.call('Which city?', { output: structured(city, options) });
    await expect(failed).rejects.toMatchObject({ details: { text: 'Rome.' } });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, chosen, last]);
  }
});

test('the error about a value that was cut at its length says so, and what to do', async () => {
  const text = '{"name":"Ro';
  const cut: ScriptedReply = {
    deltas: [
      [
        { type: 'text', id: '0', delta: text },
        { type: 'finish', reason: 'length' },
      ],
    ],
  };
  const failed = async (options: StructuredOptions, replies: readonly ScriptedReply[]) => {
    const output = structured(city, options);
    return setUp(replies).agent.call('Which city?', { output });
  };
  const error = {
    code: 'OUTPUT_INVALID',
    message: expect.stringMatching(/: .+\. The reply was cut at its length: raise maxTokens\.$/),
    details: { incomplete: 'length', text },
  };
  await expect(failed({ mode: 'prompt', attempts: 1 }, [cut])).rejects.toMatchObject(error);
  await expect(failed({ attempts: 1 }, ['Rome.', cut])).rejects.toMatchObject(error);
  const whole = failed({ mode: 'prompt', attempts: 1 }, ['Rome.']);
  await expect(whole).rejects.toMatchObject({ message: expect.not.stringContaining('maxTokens') });
});

test('in tool mode, the call fails if the model never calls the output tool', async () => {
  const { agent, model, memory } = setUp(['Rome.', 'I said Rome.', 'Rome!']);
  await expect(
    agent.call('Which city?', { output: structured(city, { attempts: 2 }) }),
  ).rejects.toMatchObject({
    code: 'OUTPUT_INVALID',
    details: { text: 'Rome!' },
  });
  expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, chosen, chosen]);
  expect(shape(await memory.read())).toEqual(['user: Which city?', 'assistant: Rome!']);
});

test('in tool mode, `forceTool: false` sends only a reminder', async () => {
  const { agent, model } = setUp(['Rome.', { toolCalls: [give(rome)] }]);
  const result = await agent.call('Which city?', {
    output: structured(city, { forceTool: false }),
  });
  expect(result.output).toEqual(rome);
  expect(model.requests[1]).not.toHaveProperty('toolChoice');
  expect(shape(model.requests[1]!.messages)).toHaveLength(3);
});

test('in tool mode, other tools in the same replies run, and their results are kept', async () => {
  const { agent, model, memory } = setUp([
    { text: 'Looking.', toolCalls: [look] },
    { text: 'More.', toolCalls: [give(bad), look] },
    { toolCalls: [look, give(rome)] },
    'Bye.',
  ]);
  const result = await agent.call('Which city?', { output: structured(city) });
  expect(result).toMatchObject({ output: rome, toolsUsed: ['look_up'] });
  expect(shape(await memory.read())).toEqual([
    'user: Which city?',
    'assistant: Looking., call look_up',
    'tool: result look_up',
    'assistant: More., call look_up',
    'tool: result look_up',
    'assistant: call look_up',
    'tool: result look_up',
    stored,
  ]);
  await agent.call('Thanks.');
  expect(shape(model.requests[3]!.messages).slice(-2)).toEqual([stored, 'user: Thanks.']);
  expect(model.requests[3]!.tools.map(({ name }) => name)).toEqual(['look_up']);
  await expectAllValid(memory, model);
});

test('another reader of a session’s log does not see the removed messages', async () => {
  for (const durability of ['step', 'turn'] as const) {
    const store = new MemoryStore();
    const memory = new SessionMemory(store, 's', { durability });
    const { agent } = setUp(
      ['Rome.', { toolCalls: [give(bad), look] }, { toolCalls: [give(rome)] }],
      { memory },
    );
    await agent.call('Which city?', { output: structured(city) });
    const read = await new SessionMemory(store, 's').read();
    expect(shape(read)).toEqual([
      'user: Which city?',
      'assistant: call look_up',
      'tool: result look_up',
      stored,
    ]);
    expect(read).toEqual(await agent.messages());
  }
});

test('messages of earlier turns are kept, even of a turn that was interrupted before its value', async () => {
  const { agent, memory } = setUp([
    { toolCalls: [give(bad)] },
    'Rome.',
    { toolCalls: [give(bad)] },
    { toolCalls: [give(rome)] },
  ]);
  for await (const event of agent.stream('First?', { output: structured(city) })) {
    if (event.type === 'pre-reasoning' && event.iteration === 2) agent.interrupt('Stop.');
  }
  const before = await memory.read();
  expect(shape(before)).toEqual([
    'user: First?',
    'assistant: call generate_response',
    'tool: result generate_response',
    'assistant: Stop.',
  ]);
  await agent.call('Second?', { output: structured(city) });
  const after = await memory.read();
  expect(after.slice(0, 4)).toEqual(before);
  expect(shape(after.slice(4))).toEqual(['user: Second?', stored]);
});

test('in tool mode, the value is requested at the limit of iterations with a forced tool call', async () => {
  const replies = [
    'Rome.',
    { toolCalls: [look] },
    { thinking: 'Now.', text: 'Here: ', toolCalls: [give(rome)] },
  ];
  const { agent, model, memory } = setUp(replies, { limits: { iterations: 2 } });
  const events: AgentEvent[] = [];
  const stream = agent.stream('Which city?', { output: structured(city) });
  for await (const event of stream) events.push(event);
  const result = await stream.result;
  expectTypeOf(result.output).toEqualTypeOf<{ name: string; people: number } | undefined>();
  expect(result).toMatchObject({
    output: rome,
    reason: 'max-iterations',
    iterations: 2,
    usage: { inputTokens: 30 },
  });
  expect(model.requests[2]).toMatchObject({
    tools: [{ name: 'generate_response' }],
    toolChoice: chosen,
  });
  expect(shape(await memory.read())).toEqual([
    'user: Which city?',
    'assistant: call look_up',
    'tool: result look_up',
    `assistant: thinking, ${JSON.stringify(rome)}`,
  ]);
  const closing = events
    .slice(events.findIndex(({ type }) => type === 'pre-summary'))
    .map(({ type }) => type);
  expect(closing).toEqual([
    'pre-summary',
    'summary-chunk',
    'step-reset',
    'post-summary',
    'post-call',
    'run-end',
  ]);
  await expectAllValid(memory, model);
});

test('at the limit of iterations, only one attempt is made', async () => {
  for (const [mode, last] of [
    ['tool', { toolCalls: [give(bad)] }],
    ['tool', JSON.stringify(bad)],
    ['prompt', JSON.stringify(bad)],
  ] as const) {
    const { agent, model, memory } = setUp([{ toolCalls: [look] }, last as ScriptedReply], {
      limits: { iterations: 1 },
    });
    await expect(
      agent.call('Which city?', { output: structured(city, { mode }) }),
    ).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    model.assertDone();
    expect(shape(await memory.read()).at(-1)).toBe(`assistant: ${JSON.stringify(bad)}`);
    await expectAllValid(memory, model);
  }
});

test('a value that is not an object is wrapped in an object in tool mode only', async () => {
  const list = z.array(z.string());
  const inTool = setUp([{ toolCalls: [give({ response: ['a', 'b'] })] }]);
  const result = await inTool.agent.call('Which?', { output: structured(list) });
  expectTypeOf(result.output).toEqualTypeOf<string[] | undefined>();
  expect(result).toMatchObject({
    output: ['a', 'b'],
    text: '["a","b"]',
    message: { metadata: { output: ['a', 'b'] } },
  });
  const inText = setUp(['["a"]']);
  expect(
    (await inText.agent.call('Which?', { output: structured(list, { mode: 'prompt' }) })).output,
  ).toEqual(['a']);
  for (const [reply, text] of [
    ['"quoted"', 'quoted'],
    ['plain words', 'plain words'],
  ] as const) {
    const { agent } = setUp([reply]);
    expect(
      (await agent.call('Which?', { output: structured(z.string(), { mode: 'prompt' }) })).output,
    ).toBe(text);
  }
});

test('with plain JSON Schema, the model gets the schema, and the value is not checked', async () => {
  const schema = { type: 'object', properties: { name: { type: 'string' } } };
  const { agent, model } = setUp([{ toolCalls: [give({ name: 7 })] }]);
  const result = await agent.call('Which?', { output: structured(schema) });
  expectTypeOf(result.output).toEqualTypeOf<unknown>();
  expect(result.output).toEqual({ name: 7 });
  expect(
    model.requests[0]!.tools.find(({ name }) => name === 'generate_response')!.parameters,
  ).toBe(schema);
});

test('the output is the value that the schema returns, and the log contains its JSON form', async () => {
  const day = z.object({ day: z.string().transform((text) => new Date(text)) });
  const { agent, memory } = setUp([{ toolCalls: [give({ day: '2026-01-02' })] }]);
  const result = await agent.call('When?', { output: structured(day) });
  expect(result.output?.day).toEqual(new Date('2026-01-02'));
  const json = { day: '2026-01-02T00:00:00.000Z' };
  expect((await memory.read())[1]).toMatchObject({
    content: [{ text: JSON.stringify(json) }],
    metadata: { output: json },
  });

  const big = setUp([{ toolCalls: [give({ response: '12' })] }]);
  const { output, text } = await big.agent.call('How many?', {
    output: structured(z.string().transform(BigInt)),
  });
  expect([output, text]).toEqual([12n, '"12"']);
});

test('in prompt mode, each request contains the schema, which is not stored, and the text is parsed', async () => {
  const { agent, model, memory } = setUp([{ toolCalls: [look] }, JSON.stringify(rome)], {
    systemPrompt: 'Be brief.',
  });
  const result = await agent.call('Which city?', { output: structured(city, { mode: 'prompt' }) });
  expect(result).toMatchObject({
    output: rome,
    text: JSON.stringify(rome),
    message: { metadata: { output: rome } },
  });
  for (const { messages, tools } of model.requests) {
    expect(messages.filter(({ role }) => role === 'system')).toHaveLength(1);
    expect(textOf(messages[0]!)).toMatch(
      /^Be brief\.\n.*JSON Schema:\n.*"people":\{"type":"number"\}/s,
    );
    expect(tools.map(({ name }) => name)).toEqual(['look_up']);
  }
  expect(model.requests[0]!.messages[0]).toBe(model.requests[1]!.messages[0]);
  expect(shape(await memory.read())).toEqual([
    'user: Which city?',
    'assistant: call look_up',
    'tool: result look_up',
    stored,
  ]);
});

test('in prompt mode, fences and words around the JSON are removed, and a step-reset shows the change', async () => {
  const json = JSON.stringify(rome, null, 2);
  for (const text of [
    `\`\`\`json\n${json}\n\`\`\``,
    `Sure! ${json} Anything else?`,
    `For {x}: \`\`\`\n${json}\`\`\``,
  ]) {
    const { agent, memory } = setUp([{ thinking: 'Hm.', text }]);
    const stream = agent.stream('Which city?', { output: structured(city, { mode: 'prompt' }) });
    const events = await eventsOf(stream);
    const { output, message } = await stream.result;
    expect(output).toEqual(rome);
    expect(events.find(({ type }) => type === 'step-reset')).toMatchObject({
      reason: 'output',
      replacement: { id: message.id },
    });
    expect(shape(await memory.read())).toEqual([
      'user: Which city?',
      `assistant: thinking, ${JSON.stringify(rome)}`,
    ]);
  }
  const { agent } = setUp([JSON.stringify(rome)]);
  const events = await eventsOf(
    agent.stream('Which city?', { output: structured(city, { mode: 'prompt' }) }),
  );
  expect(events.some(({ type }) => type === 'step-reset')).toBe(false);
});

test('in prompt mode, the model gets the issues of an invalid value, in three attempts at most', async () => {
  const { agent, model, memory } = setUp(['Rome.', JSON.stringify(bad), JSON.stringify(rome)]);
  const result = await agent.call('Which city?', { output: structured(city, { mode: 'prompt' }) });
  expect(result).toMatchObject({ output: rome, usage: { inputTokens: 30 } });
  const asked = shape(model.requests[2]!.messages.filter(({ role }) => role !== 'system'));
  expect(asked).toEqual([
    'user: Which city?',
    'assistant: Rome.',
    expect.stringContaining('not valid JSON'),
    `assistant: ${JSON.stringify(bad)}`,
    expect.stringContaining('people: '),
  ]);
  expect(shape(await memory.read())).toEqual(['user: Which city?', stored]);

  const failing = setUp(['one', 'two', 'three']);
  await expect(
    failing.agent.call('Which city?', { output: structured(city, { mode: 'prompt' }) }),
  ).rejects.toMatchObject({
    code: 'OUTPUT_INVALID',
    details: { text: 'three', issues: ['it is not valid JSON'] },
  });
  expect(shape(await failing.memory.read())).toEqual(['user: Which city?', 'assistant: three']);
});

test('in prompt mode, the value is requested at the limit of iterations in a request without tools', async () => {
  const replies = [{ toolCalls: [look] }, `So: ${JSON.stringify(rome)}`];
  const { agent, model, memory } = setUp(replies, { limits: { iterations: 1 } });
  const result = await agent.call('Which city?', { output: structured(city, { mode: 'prompt' }) });
  expect(result).toMatchObject({
    output: rome,
    reason: 'max-iterations',
    text: JSON.stringify(rome),
  });
  expect(model.requests[1]).toMatchObject({ tools: [], responseSchema: { type: 'object' } });
  expect(textOf(model.requests[1]!.messages[0]!)).toContain('JSON Schema');
  expect(shape(await memory.read()).at(-1)).toBe(stored);
});

test('in prompt mode, requests without tools contain `responseSchema`, unless the option says otherwise', async () => {
  const ask = async (
    options: Parameters<typeof structured>[1],
    tools: AgentOptions['tools'] = [],
    schema: z.ZodType = city,
  ) => {
    const { agent, model } = setUp([JSON.stringify(schema === city ? rome : ['a'])], { tools });
    await agent.call('Which?', { output: structured(schema, { mode: 'prompt', ...options }) });
    return 'responseSchema' in model.requests[0]!;
  };
  expect(await ask({})).toBe(true);
  expect(await ask({}, [lookUp])).toBe(false);
  expect(await ask({ responseSchema: true }, [lookUp])).toBe(true);
  expect(await ask({ responseSchema: false })).toBe(false);
  expect(await ask({}, [], z.array(z.string()))).toBe(false);
});

test('the default mode depends on the features of the model', async () => {
  const { agent, model } = setUp([JSON.stringify(rome)], { takesTools: false });
  expect((await agent.call('Which city?', { output: structured(city) })).output).toEqual(rome);
  expect(model.requests[0]!.tools).toEqual([]);
  const refused = agent.call('Which city?', { output: structured(city, { mode: 'tool' }) });
  await expect(refused).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('"prompt"'),
  });
});

test('the last text that a reader gets is the text of the answer', async () => {
  const { agent } = setUp(['Rome.', { toolCalls: [give(rome)] }]);
  const stream = agent.stream('Which city?', { output: structured(city) });
  let shown = '';
  const events = await eventsOf(stream);
  for (const event of events) {
    if (event.type === 'step-reset') shown = event.replacement ? textOf(event.replacement) : '';
    if (event.type === 'reasoning-chunk' && event.kind === 'text') shown += event.delta;
  }
  expect(shown).toBe(JSON.stringify(rome));
  expect(events.filter(({ type }) => type === 'step-reset')).toMatchObject([{ reason: 'output' }]);
  expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { output: rome } });
  const beside = setUp([{ text: 'Here:', toolCalls: [give(rome)] }]);
  const reset = (await eventsOf(beside.agent.stream('Which?', { output: structured(city) }))).find(
    ({ type }) => type === 'step-reset',
  );
  expect(reset).toMatchObject({ replacement: { content: [{ text: JSON.stringify(rome) }] } });
});

const cuts: readonly [string, ScriptedStep][] = [
  ['the answer', { text: 'Half ', hang: true }],
  [
    'the arguments',
    {
      deltas: [
        [{ type: 'tool-input', index: 0, id: 'x', name: 'generate_response', delta: '{"na' }],
      ],
      hang: true,
    },
  ],
];

test.each(cuts)(
  'after an interrupt or abort in %s of a forced request, the conversation can continue',
  async (_where, cut) => {
    for (const how of ['interrupted', 'aborted'] as const) {
      const { agent, model, memory } = setUp([
        'Rome.',
        { toolCalls: [give(bad), look] },
        cut,
        { toolCalls: [give(rome)] },
      ]);
      const controller = new AbortController();
      const stream = agent.stream('Which city?', {
        output: structured(city),
        signal: controller.signal,
      });
      for await (const event of stream) {
        if (
          event.iteration !== 3 ||
          (event.type !== 'reasoning-chunk' && event.type !== 'tool-input-chunk')
        )
          continue;
        if (how === 'aborted') controller.abort();
        else agent.interrupt('Stop.');
      }
      const result = await stream.result;
      expect(result.reason).toBe(how);
      expect(result).not.toHaveProperty('output');
      const log = await memory.read();
      expect(shape(log).slice(0, 2)).toEqual(['user: Which city?', 'assistant: Rome.']);
      expect(log.filter(({ role }) => role === 'user')).toHaveLength(1);
      await expectAllValid(memory, model);
      expect((await agent.call('Again: which?', { output: structured(city) })).output).toEqual(
        rome,
      );
      await expectAllValid(memory, model);
    }
  },
);

test('an abort while the value is stored ends the call without a value', async () => {
  const controller = new AbortController();
  const { agent, model, memory } = setUp([{ toolCalls: [give(rome)] }], {
    use: [{ on: { 'post-acting': () => controller.abort() } }],
  });
  const result = await agent.call('Which city?', {
    output: structured(city),
    signal: controller.signal,
  });
  expect(result.reason).toBe('aborted');
  expect(result).not.toHaveProperty('output');
  await expectAllValid(memory, model);
});

test('hooks may change the request, the reply, the tool call and the answer', async () => {
  const { agent, model, memory } = setUp(
    [{ text: '', toolCalls: [give({ name: 'Rom', people: 1 })] }],
    {
      use: [
        {
          on: {
            'pre-reasoning': (event) => ({ ...event, tools: [] }),
            'pre-acting': (event) => ({ ...event, toolUse: { ...event.toolUse, input: rome } }),
            'post-call': (event) => ({
              ...event,
              message: { ...event.message, content: [{ type: 'text', text: 'Done.' }] },
            }),
          },
        },
      ],
    },
  );
  const result = await agent.call('Which city?', { output: structured(city) });
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['generate_response']);
  expect(result).toMatchObject({
    output: rome,
    text: 'Done.',
    message: { metadata: { output: rome } },
  });
  expect(shape(await memory.read())).toEqual(['user: Which city?', 'assistant: Done.']);

  const edited = setUp(['Rome.'], {
    use: [
      {
        on: {
          'post-reasoning': (event) => ({
            ...event,
            message: { ...event.message, content: [{ type: 'text', text: JSON.stringify(rome) }] },
          }),
        },
      },
    ],
  });
  expect(
    (await edited.agent.call('Which city?', { output: structured(city, { mode: 'prompt' }) }))
      .output,
  ).toEqual(rome);
});

test('a hook that rejects the tool call, or makes its arguments invalid, uses up an attempt', async () => {
  let calls = 0;
  const { agent, model, memory } = setUp(
    [{ toolCalls: [give(rome)] }, { toolCalls: [give(rome)] }, { toolCalls: [give(rome)] }],
    {
      use: [
        {
          on: {
            'pre-acting': (event) => {
              calls += 1;
              if (calls === 1) event.reject('Not Rome.');
              return calls === 2 ? { ...event, toolUse: { ...event.toolUse, input: bad } } : event;
            },
          },
        },
      ],
    },
  );
  expect((await agent.call('Which city?', { output: structured(city) })).output).toEqual(rome);
  expect(model.requests[2]!.messages.flatMap(toolResultsOf).map(({ state }) => state)).toEqual([
    'denied',
    'error',
  ]);
  expect(shape(await memory.read())).toEqual(['user: Which city?', stored]);

  const never = setUp([{ toolCalls: [give(rome)] }], {
    use: [{ on: { 'pre-acting': (event) => event.reject('Not Rome.') } }],
  });
  await expect(
    never.agent.call('Which?', { output: structured(city, { attempts: 1 }) }),
  ).rejects.toMatchObject({
    code: 'OUTPUT_INVALID',
    details: { issues: ['Tool call rejected: Not Rome.'] },
  });
});

test('if a hook stops the call, the result has no value', async () => {
  const { agent } = setUp([{ toolCalls: [give(rome)] }], {
    use: [{ on: { 'post-acting': (event) => event.stop() } }],
  });
  const result = await agent.call('Which city?', { output: structured(city) });
  expect(result.reason).toBe('stopped-by-hook');
  expect(result).not.toHaveProperty('output');
});

test('a pending tool call beside the value suspends the run, and the value is returned when the run resumes', async () => {
  const ask = tool({ name: 'ask', description: 'Asks a person', input: z.object({}) });
  const { agent, model, memory } = setUp([{ toolCalls: [{ name: 'ask', id: 'q' }, give(rome)] }], {
    tools: [ask],
  });
  const first = await agent.call('Which city?', { output: structured(city) });
  expect(first).toMatchObject({ reason: 'suspended', pending: [{ toolUseId: 'q' }] });
  expect(first).not.toHaveProperty('output');
  const second = await agent.call([{ toolUseId: 'q', type: 'result', output: 'Rome, they say.' }], {
    output: structured(city),
  });
  expect(second).toMatchObject({ output: rome, reason: 'stop' });
  model.assertDone();
  expect(shape(await memory.read())).toEqual([
    'user: Which city?',
    'assistant: call ask',
    'tool: result ask',
    stored,
  ]);
  await expectAllValid(memory, model);
});

test('messages that arrive before the answer are answered first', async () => {
  const { agent, model } = setUp([
    () => {
      agent.interrupt({ mode: 'inject', messages: 'In Italy.' });
      return JSON.stringify({ name: 'Paris', people: 1 });
    },
    JSON.stringify(rome),
  ]);
  expect(
    (await agent.call('Which city?', { output: structured(city, { mode: 'prompt' }) })).output,
  ).toEqual(rome);
  expect(shape(model.requests[1]!.messages).at(-1)).toBe('user: In Italy.');
});

test('the value is requested even if `allowTools` allows no tools', async () => {
  const { agent, model } = setUp([{ toolCalls: [give(rome)] }]);
  expect(
    (await agent.call('Which city?', { output: structured(city), allowTools: [] })).output,
  ).toEqual(rome);
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(['generate_response']);
});

test('one structured() object can be used for many calls', async () => {
  const output = structured(city, { attempts: 2 });
  const { agent } = setUp([
    { toolCalls: [give(bad)] },
    { toolCalls: [give(rome)] },
    { toolCalls: [give(bad)] },
    { toolCalls: [give(rome)] },
  ]);
  expect((await agent.call('One?', { output })).output).toEqual(rome);
  expect((await agent.call('Two?', { output })).output).toEqual(rome);
});

test('structured() rejects contradicting options and invalid schemas', async () => {
  const mine = tool({
    name: 'generate_response',
    description: 'Mine',
    input: {},
    execute: () => 1,
  });
  const { agent, model } = setUp([], { tools: [mine] });
  await expect(agent.call('hi', { output: structured(city) })).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
  expect(model.requests).toEqual([]);
  const configuration = expect.objectContaining({ name: 'AgentError', code: 'CONFIGURATION' });
  for (const attempts of [0, 1.5, NaN, '3' as unknown as number])
    expect(() => structured(city, { attempts })).toThrow(configuration);
  expect(() => structured(city, { mode: 'native' as 'tool' })).toThrow(configuration);
  expect(() => structured(undefined as unknown as typeof city)).toThrow(configuration);
  expect(() => structured(z.object({ at: z.date() }))).toThrow(configuration);
});
