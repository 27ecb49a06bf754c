import { expect, test } from 'vitest';
import * as z from 'zod';
import type { AgentEvent } from '../event/agent-event.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { assistantMessage, userMessage, textOf, toolResultsOf } from '../message/msg.ts';
import type { SchemaLike } from '../schema/schema.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { structured, type StructuredOptions } from './structured.ts';

const city = z.object({ name: z.string() });
const rome = { name: 'Rome' };
const bad = { name: 1 };
const lookUp = tool({
  name: 'look_up',
  description: 'Looks a word up',
  input: {},
  execute: () => 'about Rome',
});
const give = (input: unknown, id?: string) => ({
  name: 'generate_response',
  input: input as {},
  ...(id && { id }),
});
const look = { name: 'look_up' };
const limited = { limits: { iterations: 0 } };

function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const model = new ScriptedModel(replies);
  const memory = new Watched();
  return {
    model,
    memory,
    agent: new ReActAgent({ name: 'a', model, memory, tools: [lookUp], ...options }),
  };
}

/** A memory that records deleted ids and can reject deletions. */
class Watched extends InMemoryMemory {
  refuses = false;
  readonly deleted: string[] = [];
  override async delete(ids: readonly string[]): Promise<void> {
    await Promise.resolve();
    if (this.refuses) throw new Error('stuck');
    this.deleted.push(...ids);
    await super.delete(ids);
  }
}

async function eventsOf(
  agent: ReActAgent,
  schema: SchemaLike,
  options?: StructuredOptions,
): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('go', { output: structured(schema, options) }))
    events.push(event);
  return events;
}

test('an empty reply is neither sent to the model again nor stored', async () => {
  const { agent, model } = setUp(['', { toolCalls: [give(rome)] }]);
  expect((await agent.call('go', { output: structured(city) })).output).toEqual(rome);
  expect(model.requests[1]!.messages.map(({ role }) => role)).toEqual(['user', 'user']);
  const failing = setUp(['']);
  await expect(
    failing.agent.call('go', { output: structured(city, { mode: 'prompt', attempts: 1 }) }),
  ).rejects.toMatchObject({
    code: 'OUTPUT_INVALID',
    details: { issues: ['it is not valid JSON'], text: '' },
  });
  expect((await failing.agent.messages()).map(({ role }) => role)).toEqual(['user']);
});

test('if the store fails to delete a message, the call fails', async () => {
  for (const last of [rome, bad]) {
    const { agent, memory } = setUp([{ toolCalls: [give(bad)] }, { toolCalls: [give(last)] }]);
    memory.refuses = true;
    await expect(agent.call('go', { output: structured(city, { attempts: 2 }) })).rejects.toThrow(
      'stuck',
    );
  }
});

test('only the messages that have to change are rewritten in the store', async () => {
  const { agent, memory } = setUp([{ toolCalls: [look] }, { toolCalls: [give(rome)] }]);
  await agent.call('go', { output: structured(city) });
  const log = await memory.read();
  expect(log.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(memory.deleted).toHaveLength(2);
  expect(log.filter(({ id }) => memory.deleted.includes(id))).toEqual([]);
});

test('in prompt mode, the answer keeps the metadata and usage of its reply', async () => {
  const usage = { inputTokens: 3, outputTokens: 4 };
  const { agent } = setUp([{ text: JSON.stringify(rome), usage }]);
  const result = await agent.call('go', { output: structured(city, { mode: 'prompt' }) });
  expect(result).toMatchObject({
    reason: 'stop',
    message: { metadata: { output: rome, usage, finishReason: 'stop' } },
  });
});

test('text beside other tool calls is kept, and the value is streamed after it', async () => {
  const { agent } = setUp([{ text: 'Looking.', toolCalls: [look, give(rome)] }]);
  const events = await eventsOf(agent, city);
  expect(events.filter(({ type }) => type === 'step-reset')).toEqual([]);
  const { id } = (await agent.messages()).at(-1)!;
  expect(events.filter(({ type }) => type === 'reasoning-chunk')).toMatchObject([
    { delta: 'Looking.' },
    { delta: JSON.stringify(rome), kind: 'text', blockId: `${id}:0` },
  ]);
});

test('if the value is the only tool call of a reply, the text of the reply is removed', async () => {
  const { agent } = setUp([{ text: 'Here:', toolCalls: [give(rome)] }]);
  const resets = (await eventsOf(agent, city)).filter(({ type }) => type === 'step-reset');
  expect(resets).toMatchObject([
    { reason: 'output', replacement: { content: [{ text: JSON.stringify(rome) }] } },
  ]);
});

test('at the limit of iterations, the value is streamed as a summary chunk', async () => {
  const { agent } = setUp([{ toolCalls: [give(rome)] }], limited);
  const chunks = (await eventsOf(agent, city)).filter(({ type }) => type === 'summary-chunk');
  expect(chunks).toMatchObject([{ delta: JSON.stringify(rome) }]);
  expect(chunks[0]).not.toHaveProperty('kind');
});

test('the answer contains the thinking of the last reply', async () => {
  const { agent } = setUp([
    { thinking: 'First.', toolCalls: [give(bad)] },
    { thinking: 'Then.', toolCalls: [give(rome)] },
  ]);
  const { message } = await agent.call('go', { output: structured(city) });
  expect(message.content).toEqual([
    { type: 'thinking', thinking: 'Then.' },
    { type: 'text', text: JSON.stringify(rome) },
  ]);
});

test.for(['tool', 'prompt'] as const)(
  'in %s mode, a value without a JSON form is stored as the model wrote it',
  async (mode) => {
    const schema = z.object({ name: z.string() }).transform(
      ({ name }) =>
        () =>
          name,
    );
    const { agent } = setUp([mode === 'tool' ? { toolCalls: [give(rome)] } : JSON.stringify(rome)]);
    const result = await agent.call('go', { output: structured(schema, { mode }) });
    expect(result.output!()).toBe('Rome');
    expect(result).toMatchObject({
      text: JSON.stringify(rome),
      message: { metadata: { output: rome } },
    });
  },
);

test('in prompt mode, the schema is appended to the system prompt that a hook returned', async () => {
  const { agent, model } = setUp(['what?', JSON.stringify(rome)], {
    systemPrompt: 'Be kind.',
    use: [
      {
        on: {
          'pre-reasoning': (event) => {
            const [system, ...rest] = event.messages;
            return {
              ...event,
              messages: [
                { ...system!, content: [{ type: 'text', text: `Round ${event.iteration}.` }] },
                ...rest,
              ],
            };
          },
        },
      },
    ],
  });
  await agent.call('go', { output: structured(city, { mode: 'prompt' }) });
  expect(model.requests).toHaveLength(2);
  for (const [index, { messages }] of model.requests.entries()) {
    expect(messages.map(({ role }) => role).filter((role) => role === 'system')).toHaveLength(1);
    expect(textOf(messages[0]!)).toMatch(new RegExp(`^Round ${index + 1}\\.[^]*JSON Schema`));
  }
});

test.for(['tool', 'prompt'] as const)(
  'in %s mode, an abort at the limit of iterations ends the call without a value',
  async (mode) => {
    const { agent } = setUp([{ text: 'Half ', hang: true }], limited);
    const controller = new AbortController();
    agent.addHook({ on: { 'summary-chunk': () => controller.abort() } });
    const result = await agent.call('go', {
      output: structured(city, { mode }),
      signal: controller.signal,
    });
    expect(result).toMatchObject({ reason: 'aborted', text: 'Half ' });
    expect(result).not.toHaveProperty('output');
  },
);

test('in prompt mode, a tool call that the model makes at the limit of iterations is dropped', async () => {
  const { agent } = setUp([{ text: JSON.stringify(rome), toolCalls: [look] }], limited);
  const { message, output } = await agent.call('go', {
    output: structured(city, { mode: 'prompt' }),
  });
  expect([output, message.content]).toEqual([rome, [{ type: 'text', text: JSON.stringify(rome) }]]);
  expect(message.metadata).toMatchObject({ output: rome, finishReason: 'tool_calls' });
});

test('in prompt mode, a text value is trimmed, and a blank text is rejected', async () => {
  const { agent } = setUp(['  Rome \n']);
  expect(
    (await agent.call('go', { output: structured(z.string(), { mode: 'prompt' }) })).output,
  ).toBe('Rome');
  const blank = setUp([' \n']);
  const failed = blank.agent.call('go', {
    output: structured(z.string(), { mode: 'prompt', attempts: 1 }),
  });
  await expect(failed).rejects.toMatchObject({ details: { issues: ['it is not valid JSON'] } });
});

test('in tool mode, the last valid value in a reply counts', async () => {
  const paris = { name: 'Paris' };
  for (const options of [{}, limited]) {
    const { agent } = setUp([{ toolCalls: [give(rome), give(paris)] }], options);
    expect((await agent.call('go', { output: structured(city) })).output).toEqual(paris);
  }
  const { agent, model } = setUp([{ toolCalls: [give(rome), give(bad)] }]);
  expect((await agent.call('go', { output: structured(city) })).output).toEqual(rome);
  model.assertDone();
});

test('in tool mode, the output tool is added to the agent’s tools, and its tool call gets a result', async () => {
  const { agent, model } = setUp(
    [
      { toolCalls: [look] },
      { toolCalls: [give(bad)] },
      { toolCalls: [give(rome, 'c'), { name: 'ext' }] },
    ],
    {
      tools: [lookUp, tool({ name: 'ext', description: '', input: {} })],
    },
  );
  const result = await agent.call('go', { output: structured(city) });
  expect(result.reason).toBe('suspended');
  expect(
    (await agent.messages()).flatMap(toolResultsOf).find(({ toolUseId }) => toolUseId === 'c'),
  ).toMatchObject({
    state: 'success',
    output: 'Received.',
  });
  for (const { tools } of model.requests)
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'ext',
      'generate_response',
      'look_up',
    ]);
  expect(
    model.requests[0]!.tools.find(({ name }) => name === 'generate_response')!.description,
  ).toContain('final answer');
});

test('in tool mode, the output tool stays in the request even if a hook removes it', async () => {
  const { agent, model } = setUp([{ toolCalls: [give(rome)] }], {
    use: [
      {
        on: {
          'pre-reasoning': (event) => ({
            ...event,
            tools: event.tools.filter(({ name }) => name !== 'generate_response'),
          }),
        },
      },
    ],
  });
  await agent.call('go', { output: structured(city) });
  expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual([
    'look_up',
    'generate_response',
  ]);
});

test('in tool mode, the name of the output tool is reserved', async () => {
  const { agent } = setUp([], {
    tools: [tool({ name: 'generate_response', description: '', input: {} })],
  });
  await expect(agent.call('go', { output: structured(city) })).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('reserves the tool name'),
  });
});

test('in tool mode, invalid JSON at the limit of iterations is reported', async () => {
  const { agent } = setUp([{ toolCalls: [give('{"na')] }], limited);
  await expect(agent.call('go', { output: structured(city) })).rejects.toMatchObject({
    details: { issues: ['it is not valid JSON'], text: '{"na' },
  });
  const none = setUp([{ toolCalls: [give(null)] }], limited);
  await expect(none.agent.call('go', { output: structured(z.string()) })).rejects.toMatchObject({
    details: { issues: ['response: it is missing'], text: 'null' },
  });
});

test('if a schema is wrapped in an object, references to its definitions stay valid, and no text changes', async () => {
  const schema = {
    type: 'array',
    items: { $ref: '#/$defs/city' },
    $defs: { city: { type: 'object', description: '#/properties' } },
  } as const;
  const { agent, model } = setUp([{ toolCalls: [give({ response: [rome] })] }]);
  expect((await agent.call('go', { output: structured(schema) })).output).toEqual([rome]);
  expect(model.requests[0]!.tools[0]!.parameters).toMatchObject({
    properties: { response: { type: 'array', items: { $ref: '#/$defs/city' } } },
    $defs: schema.$defs,
  });
});

test('in tool mode, arguments may contain spaces, and a value that is not an object is checked against the schema', async () => {
  const { agent } = setUp([{ toolCalls: [give('{ "name": "Rome" }')] }], limited);
  expect((await agent.call('go', { output: structured(city) })).output).toEqual(rome);
  const wrong = setUp([{ toolCalls: [give('"Rome"')] }], limited);
  await expect(wrong.agent.call('go', { output: structured(city) })).rejects.toMatchObject({
    details: { text: '"Rome"', issues: [expect.not.stringContaining('response')] },
  });
});

test('in tool mode, the last of several invalid values is reported', async () => {
  const { agent } = setUp([{ toolCalls: [give({ name: 1 }), give({ name: 2 })] }]);
  const failed = agent.call('go', { output: structured(city, { attempts: 1 }) });
  await expect(failed).rejects.toMatchObject({ details: { text: '{"name":2}' } });
});

test('in tool mode, a value that a dead host left in the log is accepted', async () => {
  const use = { type: 'tool_use', id: 'c', name: 'generate_response', input: rome } as const;
  const { agent } = scriptedAgent([], {
    memory: new InMemoryMemory([userMessage('go'), assistantMessage([use])]),
  });
  expect((await agent.call(undefined, { output: structured(city) })).output).toEqual(rome);
});

test.for(['tool', 'prompt'] as const)(
  'in %s mode, the answer of a hook is not judged',
  async (mode) => {
    const { agent, model } = setUp(['Rome.'], {
      use: [
        {
          on: {
            'post-reasoning': (event) => event.jumpTo('end', 'Not now.', 'stop'),
          },
        },
      ],
    });
    const result = await agent.call('go', { output: structured(city, { mode }) });
    expect(result).toMatchObject({ reason: 'stop', text: 'Not now.' });
    expect(result).not.toHaveProperty('output');
    expect(model.requests).toHaveLength(1);
  },
);

test('in tool mode, a hook may ask the model again after a value', async () => {
  let isFirst = true;
  const { agent, model } = setUp(
    [{ toolCalls: [give({ name: 'Paris' })] }, { toolCalls: [give(rome)] }],
    {
      use: [
        {
          on: {
            'post-acting': (event) => {
              if (isFirst) event.gotoReasoning([]);
              isFirst = false;
            },
          },
        },
      ],
    },
  );
  expect((await agent.call('go', { output: structured(city) })).output).toEqual(rome);
  expect(model.requests).toHaveLength(2);
  expect((await agent.messages()).map(textOf)).toEqual(['go', JSON.stringify(rome)]);
});

test('in tool mode, a message that arrives beside a value is answered first', async () => {
  const { agent, model } = setUp([
    { toolCalls: [give({ name: 'Paris' })] },
    { toolCalls: [give(rome)] },
  ]);
  let isFirst = true;
  agent.addHook({
    on: {
      'pre-acting': () => {
        if (isFirst) agent.interrupt({ mode: 'inject', messages: 'In Italy.' });
        isFirst = false;
      },
    },
  });
  expect((await agent.call('go', { output: structured(city) })).output).toEqual(rome);
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toBe('In Italy.');
});

test('several agents may use one output mode at the same time', async () => {
  const output = structured(city, { attempts: 1 });
  const names = ['Rome', 'Oslo', 'Lima'];
  const values = names.map(async (name) => {
    const { agent } = setUp([`${name}.`, { toolCalls: [give({ name })] }]);
    return (await agent.call('go', { output })).output;
  });
  expect(await Promise.all(values)).toEqual(names.map((name) => ({ name })));
});
