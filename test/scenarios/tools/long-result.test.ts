import { expect, test } from 'vitest';
import { agentTool } from '@isoloop/core/several';
import {
  ReActAgent,
  type AgentOptions,
  type AgentEvent,
  InMemoryMemory,
  systemMessage,
  outputText,
  toolResultsOf,
  type ModelRequest,
  tool,
  type Tool,
} from '@isoloop/core';
import { answerFromObservations } from '../../../packages/presets/src/oxygent/answer-from-observations.ts';
import { ScriptedModel } from '@isoloop/core/testing';
import { textToolCalls } from '@isoloop/core/text-protocol';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const input = { type: 'object' } as const;
const long = 'word '.repeat(50_000);
const note = '\n[This result is shortened. It has 250000 characters; these are the first 100000.]';
const cut = `${long.slice(0, 100_000)}${note}`;

const reader = (execute: () => unknown, more: Partial<Tool> = {}): Tool =>
  tool({ name: 'read', description: 'Reads.', input, execute, ...more } as never);

const setUp = (execute: () => unknown, options: Partial<AgentOptions> = {}) => {
  const { agent, model } = scriptedAgent([{ toolCalls: [{ name: 'read' }] }, 'Done.', 'Again.'], {
    tools: [reader(execute)],
    ...options,
  });
  return { agent, model };
};

const resultsIn = ({ messages }: ModelRequest): readonly string[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => outputText(output));

test('the model gets the start of a long result with a note, and the log and the events have the whole result', async () => {
  const { agent, model } = setUp(() => long);
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('Hi')) events.push(event);
  expect(resultsIn(model.requests[1]!)).toEqual([cut]);
  expect((await agent.messages()).flatMap(toolResultsOf)[0]!.output).toBe(long);
  const told = events.find((event) => event.type === 'post-acting');
  expect(told!.result.output).toBe(long);
  await agent.call('And?');
  expect(resultsIn(model.requests[2]!)).toEqual([cut]);
  // The message is the same object, because token counts and wire forms are cached by message.
  const shown = model.requests.slice(1).map(({ messages }) => messages.at(2));
  expect(shown[0]!.role).toBe('tool');
  expect(shown[0]).toBe(shown[1]);
});

test.for<[what: string, execute: () => unknown, text: RegExp]>([
  [
    'an object',
    () => ({ text: long }),
    /^\{"text":"word .*\n\[This result is shortened\. It has 250011 /s,
  ],
  [
    'an error',
    () => {
      throw new Error(long);
    },
    /^Error: .*word .*\n\[This result is shortened\. /s,
  ],
  [
    'texts',
    () => [
      { type: 'text', text: long },
      { type: 'text', text: long },
    ],
    /\[This result is shortened\. /,
  ],
])('the result is shortened if it is %s', async ([, execute, text]) => {
  const { agent, model } = setUp(execute);
  await agent.call('Hi');
  const [shown] = resultsIn(model.requests[1]!);
  expect(shown).toMatch(text);
  expect(shown!.length).toBeLessThan(100_200);
});

test('media of a long result are kept, in their place', async () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://a.test/i.png' } } as const;
  const memory = new InMemoryMemory();
  const model = new ScriptedModel([{ toolCalls: [{ name: 'ask' }] }, 'Done.']);
  const ask = tool({ name: 'ask', description: 'Asks.', input });
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [ask] });
  const { pending } = await agent.call('Hi');
  const output = [{ type: 'text', text: 'short' }, image, { type: 'text', text: long }] as const;
  await agent.call([{ type: 'result', toolUseId: pending[0]!.toolUseId, output }]);
  const [result] = model.requests[1]!.messages.flatMap(toolResultsOf);
  expect(result!.output).toEqual([
    output[0],
    image,
    { type: 'text', text: long.slice(0, 99_995) },
    {
      type: 'text',
      text: '[This result is shortened. It has 250005 characters; these are the first 100000.]',
    },
  ]);
  expect((await agent.messages()).flatMap(toolResultsOf)[0]!.output).toEqual(output);
});

test('a direct answer is not shortened', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'read' }] }]);
  const tools = [reader(() => long, { returnDirect: true })];
  const agent = new ReActAgent({ name: 'a', model, tools });
  expect(await agent.call('Hi')).toMatchObject({ reason: 'return-direct', text: long });
});

test('another agent with the same memory gets the shortened result too', async () => {
  const memory = new InMemoryMemory();
  await setUp(() => long, { memory }).agent.call('Hi');
  const model = new ScriptedModel(['Hello.']);
  await new ReActAgent({ name: 'b', model, memory }).call('And?');
  expect(resultsIn(model.requests[0]!)).toEqual([cut]);
});

test('the result of an agent as a tool is shortened', async () => {
  const child = new ReActAgent({ name: 'child', model: new ScriptedModel([long]) });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'call_child', input: { message: 'Go' } }] },
    'Done.',
  ]);
  const tools = [agentTool(child, { description: 'Helps.' })];
  await new ReActAgent({ name: 'a', model, tools }).call('Hi');
  expect(resultsIn(model.requests[1]!)[0]).toContain('[This result is shortened. ');
});

test('results are also shortened in a text protocol, in the summary at the limit, and in answerFromObservations()', async () => {
  const said = '{"think":"","tool_name":"read","arguments":{}}';
  const text = new ScriptedModel([said, 'Done.'], { features: { tools: false } });
  const tools = [reader(() => long)];
  await new ReActAgent({ name: 'a', model: text, tools, use: [textToolCalls()] }).call('Hi');
  const limits = { iterations: 1 };
  const summary = setUp(() => long, { limits });
  await summary.agent.call('Hi');
  const observed = setUp(() => long, { limits, onLimit: answerFromObservations() });
  await observed.agent.call('Hi');
  for (const model of [text, summary.model, observed.model]) {
    const request = JSON.stringify(model.requests[1]);
    expect(request).toContain('[This result is shortened. It has 250000 characters');
    expect(request.length).toBeLessThan(120_000);
  }
});

test('`resultLength` sets the limit: with 0 only the note is left, and with Infinity nothing is shortened', async () => {
  for (const [resultLength, shown] of [
    [
      10,
      'word word \n[This result is shortened. It has 250000 characters; these are the first 10.]',
    ],
    [0, '[This result is shortened. It has 250000 characters; these are the first 0.]'],
    [Infinity, long],
    [250_000, long],
  ] as const) {
    const { agent, model } = setUp(() => long, { limits: { resultLength } });
    await agent.call('Hi');
    expect(resultsIn(model.requests[1]!)).toEqual([shown]);
  }
  expect(() => setUp(() => '', { limits: { resultLength: -1 } })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('a shortened text does not end within a surrogate pair', async () => {
  const { agent, model } = setUp(() => `a${'😀'.repeat(10)}`, { limits: { resultLength: 4 } });
  await agent.call('Hi');
  expect(resultsIn(model.requests[1]!)[0]).toMatch(/^a😀\n\[This result is shortened/u);
});

test('context policies get the shortened result, and only tool results are shortened', async () => {
  const seen: number[] = [];
  const { agent, model } = setUp(() => long, {
    systemPrompt: long,
    use: [
      {
        wrapRequest: (draft, next) => {
          seen.push(JSON.stringify(draft.messages).length);
          return next(draft);
        },
      },
    ],
  });
  await agent.call(long);
  expect(seen[1]).toBeLessThan(620_000);
  expect(model.requests[1]!.messages[0]!.content).toEqual(systemMessage(long).content);
  expect(outputText(model.requests[1]!.messages[1]!.content)).toBe(long);
});
