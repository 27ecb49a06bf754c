import { beforeEach, expect, test } from 'vitest';
import vectors from '@test/fixtures/golden/oxygent-history.json?raw';
import repliesText from '@test/fixtures/golden/oxygent-parse.json?raw';
import {
  AgentError,
  InMemoryMemory,
  createMessage,
  textOf,
  toolResultsOf,
  toolUsesOf,
  tool,
  type Middleware,
  ReActAgent,
  type CallOptions,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { piiRule, outputGuards } from '@isoloop/guards';
import { selectTools, byWords, toolSearch } from '@isoloop/core/selection';
import {
  parseToolCalls,
  type ParsedReply,
  type ReplyParser,
  type CheckAnswer,
} from '@isoloop/core/text-protocol';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { rolesOf } from '@test/roles-of.ts';
import { loadState, saveState } from '@isoloop/core/state';
import { jsonMode, structured, type OutputMode } from '@isoloop/core/output';
import { oxygent, type OxygentOptions } from './oxygent.ts';
import { agentTool } from '@isoloop/core/several';
import { callVariables } from '@isoloop/core/prompt';
import { provide } from '@isoloop/core/tool';
import { fakeClock, type FakeClock } from '@test/clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

type AgentOptions = ConstructorParameters<typeof ReActAgent>[0];

interface Golden {
  readonly rows: readonly {
    readonly query: string;
    readonly answer: string;
    readonly react_memory: readonly {
      readonly role: 'user' | 'assistant';
      readonly content: string;
    }[];
  }[];
  readonly memoryMaxTokens: number;
  readonly weightShort: number;
  readonly weightReact: number;
  readonly messages: readonly (readonly [role: string, text: string])[];
}

const golden: readonly Golden[] = JSON.parse(vectors);
const input = { type: 'object' } as const;
const look = tool({ name: 'look', description: '', input, execute: () => 'seen' });
const looks = '```json\n{"think": "Let me look.", "tool_name": "look", "arguments": {}}\n```';

function setUp(
  replies: readonly ScriptedReply[],
  given?: OxygentOptions,
  options: Partial<AgentOptions> = {},
) {
  return scriptedAgent(replies, {
    tools: [look],
    ...options,
    use: [oxygent(given), ...(options.use ?? [])],
  });
}

test.for(golden)(
  'oxygent() gives the expected history: cap $memoryMaxTokens, weights $weightShort and $weightReact',
  async (vector) => {
    const {
      memoryMaxTokens: memoryMax,
      weightShort: shortWeight,
      weightReact: reactWeight,
      messages,
    } = vector;
    const log = vector.rows.flatMap(({ query, answer, react_memory: steps }, row) =>
      [
        { role: 'user' as const, content: query },
        ...steps,
        { role: 'assistant' as const, content: answer },
      ].map(({ role, content }) =>
        createMessage(role, content, { metadata: { runId: `run${row}` } }),
      ),
    );
    const memory = new InMemoryMemory(log);
    const { agent, model } = setUp(
      ['ok'],
      { discardReactMemory: false, memoryMax, shortWeight, reactWeight },
      { memory },
    );
    await agent.call('now');
    const shown = model.requests[0]!.messages.filter(({ role }) => role !== 'system').map(
      (message) => [message.role, textOf(message)],
    );
    expect(shown).toEqual([...messages, ['user', 'now']]);
  },
);

interface GoldenReply {
  readonly input: string;
  readonly state: 'ANSWER' | 'TOOL_CALL' | 'ERROR_PARSE';
  readonly output?: string | { readonly tool_name: string; readonly arguments: object };
}

test.for(JSON.parse(repliesText) as readonly GoldenReply[])(
  'the reply $input is read as $state, as in OxyGent',
  async ({ input: said, state, output }) => {
    const both = ['a', 'b', 'calc'].map((name) =>
      tool({ name, description: '', input, execute: () => 'seen' }),
    );
    const asInCode = { protocol: { parallel: false } };
    const { agent } = setUp([said, 'End.'], asInCode, { tools: both });
    const { text, reason, iterations, toolsUsed, message, reactMemory } = await agent.call('Go');
    if (state === 'ANSWER') expect([text, iterations]).toEqual([output, 1]);
    else if (state === 'ERROR_PARSE') {
      expect([text, iterations, toolsUsed]).toEqual(['End.', 2, []]);
      expect(reactMemory?.at(-1)?.metadata?.['correction']).toBe('message');
    } else {
      const { tool_name: name, arguments: given } = output as Exclude<
        typeof output,
        string | undefined
      >;
      expect([iterations, toolsUsed, reason]).toEqual(
        said.includes('trust_mode') ? [1, [name], 'return-direct'] : [2, [name], 'stop'],
      );
      expect(reactMemory?.flatMap(toolUsesOf)).toMatchObject([{ name, input: given }]);
      expect(textOf(message)).toBe(said.includes('trust_mode') ? 'seen' : 'End.');
    }
  },
);

test('oxygent() runs sixteen rounds and then answers from all observations, and the result contains its steps', async () => {
  const { agent, model } = setUp([...Array.from({ length: 16 }, () => looks), 'In short.']);
  const result = await agent.call('Go');
  expect(result).toMatchObject({ reason: 'max-iterations', iterations: 16, text: 'In short.' });
  expect(result.reactMemory).toHaveLength(32);
  expect(model.requests).toHaveLength(17);
  expect(textOf(model.requests[16]!.messages.at(-1)!)).toContain('16. look: seen');
});

test('an answer in the last round ends the call normally, and `maxRounds` changes the number of rounds', async () => {
  expect(
    await setUp([...Array.from({ length: 15 }, () => looks), 'Done.']).agent.call('Go'),
  ).toMatchObject({ reason: 'stop' });
  const { agent } = setUp([looks, 'In short.'], { maxRounds: 1 });
  expect(await agent.call('Go')).toMatchObject({ reason: 'max-iterations', iterations: 1 });
});

test('the history contains the questions and answers of the last ten calls, and their steps only with an option', async () => {
  const replies = [...Array.from({ length: 12 }, (_, n) => [looks, `answer ${n}`]).flat(), 'Last.'];
  const ask = async (given?: OxygentOptions) => {
    const { agent, model } = setUp(replies as readonly ScriptedReply[], given);
    for (let n = 0; n < 12; n++) await agent.call(`question ${n}`);
    await agent.call('last');
    return model.requests.at(-1)!.messages.filter(({ role }) => role !== 'system');
  };
  const simple = await ask();
  expect(simple).toHaveLength(21);
  expect(simple.slice(0, 2).map(textOf)).toEqual(['question 2', 'answer 2']);
  expect((await ask({ shortMemorySize: 3 })).map(textOf)).toHaveLength(7);
  const advanced = await ask({ discardReactMemory: false });
  expect(
    advanced.filter((message) => textOf(message) === 'Tool [look] execution result: seen'),
  ).toHaveLength(10);
});

test.for<[size: number, shown: string]>([
  // Five steps are at places 2 to 6, and the last step has weight 6. The question at place 1 and
  // the step at place 5 both have weight 5.
  [12_400, 'q 6 o a'],
  [12_401, ''],
  [8_266, 'q 5 o 6 o a'],
  [24_800, ''],
])(
  'with OxyGent’s default weights, the history fits pieces of %i characters as in OxyGent',
  async ([size, expected]) => {
    const said = (role: 'user' | 'assistant', mark: string, length: number) =>
      createMessage(role, mark.padEnd(length, '_'), { metadata: { runId: '1' } });
    const steps = [2, 3, 4, 5, 6].flatMap((place) => [
      said('assistant', String(place), size - 1),
      said('user', 'o', 1),
    ]);
    const memory = new InMemoryMemory([
      said('user', 'q', size - 1),
      ...steps,
      said('assistant', 'a', 1),
    ]);
    const { agent, model } = setUp(['ok'], { discardReactMemory: false }, { memory, tools: [] });
    await agent.call('now');
    const shown = model.requests[0]!.messages.slice(0, -1).map((message) => textOf(message)[0]);
    expect(shown.join(' ')).toBe(expected);
  },
);

test("with `memoryUnit: 'tokens'`, the cap counts tokens", async () => {
  const long = 'word '.repeat(100).trim();
  const ask = async (given: OxygentOptions) => {
    const { agent, model } = setUp(
      ['a', 'b'],
      { discardReactMemory: false, memoryMax: 200, ...given },
      { tools: [] },
    );
    await agent.call(long);
    await agent.call('next');
    return model.requests[1]!.messages.map(textOf);
  };
  expect(await ask({})).toEqual(['next']);
  expect(await ask({ memoryUnit: 'tokens' })).toEqual([long, 'a', 'next']);
});

test('a transient failure of the model is retried once after a second, and then the user gets a message', async () => {
  const busy = { error: new AgentError('MODEL_SERVER', 'busy', { retryable: true }) };
  const { agent, model } = setUp([busy, busy, 'never'], { friendlyErrorText: 'Please try again.' });
  const call = agent.call('Hi', { throwOnError: false });
  await clock.waitFor(() => expect(clock.pendingTimers()).toBe(1));
  await clock.advance(900);
  expect(model.requests).toHaveLength(1);
  await clock.advance(100);
  expect(await call).toMatchObject({ reason: 'error', text: 'Please try again.' });
  expect(model.requests).toHaveLength(2);
});

test.for<[given: OxygentOptions, text: string]>([
  [{}, 'Something went wrong on my side. Please try again.'],
  [{ friendlyErrorText: ({ code }) => `Failed: ${code}` }, 'Failed: MODEL_AUTH'],
])(
  'if the answer after the last round fails, the text for the user is the answer: %#',
  async (row) => {
    const [given, text] = row;
    const failed = { error: new AgentError('MODEL_AUTH', 'Wrong key.') };
    const { agent } = setUp([looks, failed, 'Next.'], { maxRounds: 1, ...given });
    expect(await agent.call('Hi')).toMatchObject({
      reason: 'max-iterations',
      text,
      error: { code: 'MODEL_AUTH', message: 'Wrong key.' },
    });
    expect(textOf((await agent.messages()).at(-1)!)).toBe(text);
    expect((await agent.call('Go on')).text).toBe('Next.');
  },
);

test('a tool that failed is retried once after a second', async () => {
  let tries = 0;
  const broken = tool({
    name: 'look',
    description: '',
    input,
    execute: () => {
      tries += 1;
      throw new Error('broken');
    },
  });
  const { agent } = setUp([looks, 'Sorry.'], {}, { tools: [broken] });
  const call = agent.call('Hi');
  await clock.waitFor(() => expect(clock.pendingTimers()).toBe(2));
  clock.advanceSync(1000);
  expect(await call).toMatchObject({ text: 'Sorry.' });
  expect(tries).toBe(2);
});

test('a tool has an hour unless it sets its own timeout, and a model request has five minutes', async () => {
  const signals: AbortSignal[] = [];
  const slow = tool({
    name: 'look',
    description: '',
    input,
    execute: (_, { signal }) => (signals.push(signal), new Promise<string>(() => {})),
  });
  const { agent } = setUp([looks, 'Late.'], {}, { tools: [slow] });
  const call = agent.call('go');
  await clock.waitFor(() => expect(signals).toHaveLength(1));
  clock.advanceSync(3_590_000);
  expect(signals[0]!.aborted).toBe(false);
  clock.advanceSync(10_000);
  expect(await call).toMatchObject({ text: 'Late.' });
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{ state: 'error' }]);

  const { agent: other, model } = setUp([{ hang: true }, { hang: true }]);
  const failing = other.call('go', { throwOnError: false });
  await clock.waitFor(() => expect(model.requests).toHaveLength(1));
  await clock.advance(300_000);
  await clock.advance(1_000);
  await clock.advance(300_000);
  expect(await failing).toMatchObject({ error: { code: 'MODEL_TIMEOUT' } });
});

test('all agents with one oxygent() together run at most sixteen calls at the same time', async () => {
  const preset = oxygent();
  let open!: () => void;
  const wait = new Promise<void>((resolve) => (open = resolve));
  const models = Array.from({ length: 17 }, () => new ScriptedModel([[{ wait }, { text: 'ok' }]]));
  const running = models.map((model) =>
    new ReActAgent({ name: 'a', model, use: [preset] }).call('Hi'),
  );
  const asked = () => models.filter(({ requests }) => requests.length).length;
  await clock.waitFor(() => expect(asked()).toBe(16));
  open();
  expect((await Promise.all(running)).map(({ text }) => text)).toEqual(
    Array.from({ length: 17 }, () => 'ok'),
  );
});

test('a JSON answer is corrected, which costs a round, and the tool calls in a list run in parallel', async () => {
  const list = '[{"tool_name": "look", "arguments": {}}, {"tool_name": "look", "arguments": {}}]';
  const { agent, model } = setUp(['{"n": 1}', list, '<think>So.</think>Seen.']);
  const result = await agent.call('Look');
  expect(result).toMatchObject({ reason: 'stop', text: 'Seen.', iterations: 3 });
  expect(
    result.reactMemory?.map(({ role, metadata }) =>
      [role, metadata?.['correction']].filter(Boolean).join(' '),
    ),
  ).toEqual(['assistant reply', 'user message', 'assistant', 'tool', 'tool']);
  expect(textOf(model.requests[0]!.messages[0]!)).toContain('make it a list of such objects');
  expect(textOf(model.requests[2]!.messages.at(-2)!)).toBe(list);
  expect(model.requests.every(({ tools }) => !tools.length)).toBe(true);
});

const one = '{"tool_name": "look", "arguments": {}}';

test('an agent without tools corrects JSON answers, too', async () => {
  const { agent, model } = setUp(['{"city": "Rome"}', 'It is Rome.'], {}, { tools: [] });
  const result = await agent.call('Where?');
  expect(result.text).toBe('It is Rome.');
  expect(model.requests).toHaveLength(2);
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toContain('a tool call needs "tool_name"');
});

test.for<[list: string, calls: number, corrected: boolean]>([
  [`[${one}, ${one}]`, 2, false],
  [`\n[\n  ${one},\n  ${one},\n  ${one}\n]\n`, 3, false],
  [`Both at once:\n\n\`\`\`json\n[${one}, ${one}]\n\`\`\``, 2, false],
  [`See [1]. I call [${one},${one}] now.`, 2, false],
  [`<think>Or [${one}]?</think>[${one}, ${one}]`, 2, false],
  [`[{"tool_name": "look", "arguments": {"x": [NaN, {"y": 1}]}}, ${one}]`, 2, false],
  [`[${one.replace('{}', '{"x": [{"y": "]"}]}')}, {"tool_name": "look"}]`, 2, false],
  [`[${one}]`, 1, false],
  [`I see [1] and [{}]. ${one}`, 0, true],
  [`[${one}, {"name": "look"}]`, 0, true],
  [`[${one}, "look"]`, 0, true],
  // If the list is incomplete, none of its tool calls runs.
  [`[${one}, {"tool_name": "lo`, 0, true],
  [`[${one}, ${one}`, 0, true],
  ['[]', 0, false],
  ['["a", 1]', 0, false],
])('the list %s makes %i tool calls', async ([list, calls, corrected]) => {
  const { agent } = setUp([list, 'Done.']);
  const { reactMemory = [], iterations } = await agent.call('Look');
  expect(reactMemory.flatMap(toolResultsOf)).toHaveLength(calls);
  expect(reactMemory.some(({ metadata }) => metadata?.['correction'])).toBe(corrected);
  expect(iterations).toBe(calls || corrected ? 2 : 1);
});

test('tool calls in a list may name different tools, and their results are in the order of the list', async () => {
  const slow = tool({ name: 'slow', description: '', input, execute: async () => 'late' });
  const list = `[{"tool_name": "slow", "arguments": {}}, {"tool_name": "none"}, ${one}]`;
  const { agent, model } = setUp([list, 'Done.'], {}, { tools: [slow, look] });
  await agent.call('Look');
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toMatch(
    /^Tool \[slow\] execution result: late\n\nTool \[none\] .*not found.*\n\nTool \[look\] execution result: seen$/i,
  );
});

test('with `parallel: false`, as in OxyGent’s code, a list of tool calls is corrected', async () => {
  const { agent, model } = setUp([`[${one}, ${one}]`, one, 'Seen.'], {
    protocol: { parallel: false },
  });
  expect(await agent.call('Look')).toMatchObject({ iterations: 3, toolsUsed: ['look'] });
  expect(textOf(model.requests[0]!.messages[0]!)).toContain('Call one tool at a time.');
});

test('in a list, the model’s trust_mode is ignored, but the agent’s `trustMode` applies', async () => {
  const trusted = one.replace('{"tool', '{"trust_mode": 1, "tool');
  const list = `[${trusted}, ${trusted}]`;
  expect(await setUp([list, 'Done.']).agent.call('Look')).toMatchObject({ text: 'Done.' });
  expect(await setUp([list], { trustMode: true }).agent.call('Look')).toMatchObject({
    reason: 'return-direct',
    text: '["seen","seen"]',
  });
  expect(await setUp([`[${trusted}]`]).agent.call('Look')).toMatchObject({
    reason: 'return-direct',
  });
});

test.for<[said: string, text: string, iterations: number]>([
  ['ACTION: look', 'Done.', 2],
  [one, 'Done.', 2],
  [`[${one}, ${one}]`, 'Done.', 2],
  // OxyGent's parser and the default parser read these replies differently.
  ['{"n": 1}', 'Done.', 2],
  ['{"tool_name": "look"}', 'Done.', 2],
  ['{"tool_name": "look", "arguments": {', '{"tool_name": "look", "arguments": {', 1],
])(
  'a custom parser can pass the reply %s to OxyGent’s parser',
  async ([said, text, iterations]) => {
    const parse: ReplyParser = async (reply, _context, fallback) =>
      reply.startsWith('ACTION: ')
        ? { type: 'calls', calls: [{ name: reply.slice(8) }] }
        : fallback(reply);
    const { agent, model } = setUp([said, 'Done.'], { protocol: { parse } });
    expect(await agent.call('Look')).toMatchObject({ text, iterations });
    if (iterations === 2) {
      const own = model.requests[1]!.messages.find(({ role }) => role === 'assistant');
      expect(textOf(own!)).toBe(said);
    }
  },
);

test('the fallback parser respects `parallel: false` and a requested structured value', async () => {
  const parse: ReplyParser = (reply, _context, fallback) => fallback(reply);
  const single = setUp([`[${one}, ${one}]`, 'Done.'], { protocol: { parse, parallel: false } });
  expect(await single.agent.call('Look')).toMatchObject({ toolsUsed: [], text: 'Done.' });
  const value = setUp(['{"n": 2}'], { protocol: { parse } });
  expect(await value.agent.call('go', { output: jsonMode() })).toMatchObject({ output: { n: 2 } });
});

test('the default parser can replace OxyGent’s parser, and then text is streamed as without oxygent()', async () => {
  for (const parse of [parseToolCalls, undefined]) {
    const protocol = { parse } as NonNullable<OxygentOptions['protocol']>;
    const { agent } = setUp([[{ text: 'So ' }, { text: 'it is.' }]], { protocol });
    const chunks: string[] = [];
    for await (const event of agent.stream('go'))
      if (event.type === 'reasoning-chunk') chunks.push(event.delta);
    expect(chunks).toEqual(parse ? ['So', ' it', ' is.'] : ['So it is.']);
  }
});

test('with trust mode, the tool result is the answer, and the next history contains the tool call and the answer', async () => {
  const { agent, model } = setUp([looks, 'Bye.'], { trustMode: true, discardReactMemory: false });
  expect(await agent.call('Look')).toMatchObject({ reason: 'return-direct', text: 'seen' });
  expect(rolesOf(await agent.messages())).toBe('user assistant tool assistant');
  await agent.call('Thanks', { returnDirect: false });
  expect(model.requests[1]!.messages.slice(1).map(textOf)).toEqual([
    'Look',
    looks,
    'Tool [look] execution result: seen',
    'seen',
    'Thanks',
  ]);
});

const trusting = looks.replace('{"think"', '{"trust_mode": 1, "think"');

test.for<[what: string, said: string, given: OxygentOptions, call: CallOptions, reason: string]>([
  ['the model’s tool call', trusting, {}, {}, 'return-direct'],
  [
    'the model’s tool call, where true counts as 1, as in Python',
    trusting.replace('1', 'true'),
    {},
    {},
    'return-direct',
  ],
  ['0', trusting.replace('1', '0'), {}, {}, 'stop'],
  ['the model’s tool call without `trust_mode`', looks, {}, {}, 'stop'],
  [
    'the model’s tool call, even if the agent’s `trustMode` is false',
    trusting,
    { trustMode: false },
    {},
    'return-direct',
  ],
  ['the agent’s `trustMode`', looks, { trustMode: true }, {}, 'return-direct'],
  ['the option `returnDirect` of a call', looks, {}, { returnDirect: true }, 'return-direct'],
  [
    'the option `returnDirect: false` of a call, even if the agent’s `trustMode` is true',
    trusting,
    { trustMode: true },
    { returnDirect: false },
    'stop',
  ],
  [
    'the model’s tool call, also with parseToolCalls()',
    trusting,
    { protocol: { parse: parseToolCalls } },
    {},
    'return-direct',
  ],
])('trust mode is determined by %s', async ([, said, given, call, reason]) => {
  expect(await setUp([said, 'Done.'], given).agent.call('Look', call)).toMatchObject({
    reason,
    text: reason === 'stop' ? 'Done.' : 'seen',
  });
});

test('a tool or a custom parser can turn trust mode on, and a tool call that failed goes to the model', async () => {
  const direct = tool({
    name: 'look',
    description: '',
    input,
    returnDirect: true,
    execute: () => 'seen',
  });
  expect(await setUp([looks], {}, { tools: [direct] }).agent.call('Look')).toMatchObject({
    reason: 'return-direct',
    text: 'seen',
  });
  const parse = (reply: string) =>
    reply === 'LOOK'
      ? { type: 'calls' as const, calls: [{ name: 'look', arguments: {}, returnDirect: true }] }
      : { type: 'answer' as const, text: reply };
  expect(await setUp(['LOOK'], { protocol: { parse } }).agent.call('Look')).toMatchObject({
    reason: 'return-direct',
  });
  const suspended = tool({ name: 'look', description: '', input });
  const { agent } = setUp([trusting, 'Sorry.'], { trustMode: true }, { tools: [suspended] });
  await agent.call('Look');
  const toolUseId = (await agent.messages()).flatMap(toolUsesOf)[0]!.id;
  expect(await agent.call([{ toolUseId, type: 'reject' }])).toMatchObject({
    reason: 'stop',
    text: 'Sorry.',
  });
});

test('the model’s trust_mode also applies if another agent resumes the call', async () => {
  const external = tool({ name: 'look', description: '', input });
  const first = setUp([trusting], {}, { tools: [external] }).agent;
  await first.call('Look');
  const { agent } = setUp([], {}, { tools: [external] });
  await loadState(agent, structuredClone(await saveState(first)));
  const toolUseId = (await agent.messages()).flatMap(toolUsesOf)[0]!.id;
  expect(await agent.call([{ toolUseId, type: 'result', output: 'given' }])).toMatchObject({
    reason: 'return-direct',
    text: 'given',
  });
});

test('variables in the system prompt are replaced once, and unknown variables are kept', async () => {
  const options = { systemPrompt: 'Help ${who} in ${where}.' };
  const given = { promptVariables: { variables: { who: '${where}' } } };
  const { agent, model } = setUp(['Hi.'], given, { ...options, tools: [] });
  await agent.call('For ${who}');
  expect(model.requests[0]!.messages.map(textOf)).toEqual([
    'Help ${where} in ${where}.',
    'For ${who}',
  ]);
  const plain = setUp(['Hi.'], {}, { ...options, tools: [] });
  await plain.agent.call('Hi');
  expect(textOf(plain.model.requests[0]!.messages[0]!)).toBe(options.systemPrompt);
});

const prompts = ({ requests }: ScriptedModel): readonly string[] =>
  requests.map(({ messages: [first] }) => (first?.role === 'system' ? textOf(first) : ''));
const listed = (text: string): readonly (string | undefined)[] =>
  [...text.matchAll(/^Tool: (.*)$/gm)].map(([, name]) => name);

test('the query, the tools and the call’s own values are prompt variables, and the tools appear once in the prompt', async () => {
  const { agent, model } = setUp([looks, 'Seen.', 'Hi.', 'Hi.'], undefined, {
    systemPrompt: 'Today: ${day}.\n${tools_description}\nAsked: ${query}.${additional_prompt}',
  });
  await agent.call('Is ${day} fine?', { toolContext: [provide(callVariables, { day: 'Monday' })] });
  await agent.call('Next', { toolContext: [provide(callVariables, { day: 7, query: 'mine' })] });
  await agent.call('Last');
  const tools = `Tool: look\nDescription: \nArguments: ${JSON.stringify(look.schema.parameters)}`;
  const [first, second, third, fourth] = prompts(model);
  expect(first).toMatch(/^Today: Monday\./);
  expect(first).toContain(`Today: Monday.\n${tools}\nAsked: Is \${day} fine?.\n`);
  expect(second).toBe(first);
  expect(third).toContain('Today: 7.');
  expect(third).toContain('Asked: mine.');
  expect(fourth).toContain('Today: ${day}.');
  expect(fourth).toContain('Asked: Last.');
  expect(prompts(model).map((text) => text.split(tools).length)).toEqual([2, 2, 2, 2]);
  expect(first).toContain('You can call the tools above.');
  expect(model.requests[1]!.messages[0]).toBe(model.requests[0]!.messages[0]);
});

test('custom variables are added to the default variables, and `promptVariables: false` turns all of them off', async () => {
  const systemPrompt = '${who}: ${query}';
  const variables = { who: '${tools_description}' };
  for (const given of [variables, () => variables, async () => variables]) {
    const { agent, model } = setUp(
      ['Hi.'],
      { promptVariables: { variables: given } },
      { systemPrompt },
    );
    await agent.call('Go');
    expect(prompts(model)[0]).toMatch(/^\$\{tools_description\}: Go\n/);
    expect(listed(prompts(model)[0]!)).toEqual(['look']);
  }
  const off = setUp(['Hi.'], { promptVariables: false }, { systemPrompt, tools: [] });
  await off.agent.call('Go');
  expect(prompts(off.model)).toEqual([systemPrompt]);
});

test('the variable tools_description lists the tools that each request offers', async () => {
  const systemPrompt = 'Use these:\n${tools_description}\nBe kind.';
  const search = '{"tool_name": "retrieve_tools", "arguments": {"query": "look"}}';
  const other = tool({ name: 'write', description: 'Writes.', input, execute: () => 'written' });
  const described = tool({ name: 'look', description: 'Looks.', input, execute: () => 'seen' });
  const { agent, model } = scriptedAgent([search, looks, 'Seen.', 'Hi.', 'Ho.'], {
    systemPrompt,
    tools: [described, other],
    use: [toolSearch({ prompt: 'Search first.' }), oxygent()],
  });
  await agent.call('Look');
  expect(prompts(model).map(listed)).toEqual([
    ['retrieve_tools'],
    ['retrieve_tools', 'look'],
    ['retrieve_tools', 'look'],
  ]);
  for (const text of prompts(model))
    expect(text).toMatch(/^Use these:\nTool: [^]*\nBe kind\.\n\nSearch first\.\n/);
  expect(model.requests[2]!.messages[0]).toBe(model.requests[1]!.messages[0]);

  const few = setUp(['Hi.', 'Hi.', 'Hi.'], {}, { systemPrompt, tools: [described, other] });
  await few.agent.call('Go', { allowTools: ['write'] });
  await few.agent.call('Go', { toolChoice: 'none' });
  await few.agent.call('Go', { allowTools: [] });
  expect(prompts(few.model).map(listed)).toEqual([['write'], [], []]);
  expect(prompts(few.model)[1]).toBe('Use these:\n\nBe kind.');
});

test('the variable tools_description also works with native tool calls and in an agent that is a tool', async () => {
  const native = setUp(['Hi.'], { protocol: false }, { systemPrompt: 'Use ${tools_description}' });
  await native.agent.call('Go');
  expect(prompts(native.model)[0]).toMatch(/^Use Tool: look\n/);
  expect(native.model.requests[0]!.tools).toHaveLength(1);

  const child = setUp(['Noon.'], {}, { name: 'clock', systemPrompt: 'For ${query}', tools: [] });
  const call = '{"tool_name": "call_clock", "arguments": {"message": "the time"}}';
  const asksClock = agentTool(child.agent, { description: 'Knows the time' });
  await setUp([call, 'It is noon.'], {}, { tools: [asksClock] }).agent.call('Go');
  expect(prompts(child.model)).toEqual(['For the time']);
});

test('with selectTools(), oxygent() offers the tools that match the query best, even if there are few tools', async () => {
  const [read, write] = ['read_mail', 'write_file'].map((name) =>
    tool({ name, description: name, input, execute: () => 'ok' }),
  );
  const told = async (extensions: readonly Middleware[]) => {
    const { agent, model } = scriptedAgent(['Hi.', 'Hi.'], {
      tools: [read!, write!],
      use: [...extensions, oxygent()],
    });
    for (const query of ['any mail?', 'to a file']) await agent.call(query);
    return model.requests.map(({ messages }) =>
      [...textOf(messages[0]!).matchAll(/^Tool: (.*)$/gm)].map(([, name]) => name),
    );
  };
  const few = (evenWhenFew: boolean) =>
    selectTools({ by: byWords({ maxTools: evenWhenFew ? 1 : 2, evenWhenFew }), alwaysOffer: [] });
  const both = ['read_mail', 'write_file'];
  expect(await told([])).toEqual([both, both]);
  expect(await told([few(false)])).toEqual([both, both]);
  expect(await told([few(true)])).toEqual([['read_mail'], ['write_file']]);
});

test('trust mode that the model turns on works with output guards', async () => {
  const { agent } = scriptedAgent([trusting], {
    tools: [look],
    use: [outputGuards([piiRule()]), oxygent()],
  });
  expect(await agent.call('Look')).toMatchObject({ reason: 'return-direct', text: 'seen' });
});

test.for<[how: string, output: OutputMode<unknown>]>([
  ['in JSON mode', jsonMode()],
  ['by prompt', structured({ type: 'object' }, { mode: 'prompt' })],
  ['by a tool', structured({ type: 'object' })],
])('a value requested %s is not corrected, although it is a JSON object', async ([how, output]) => {
  const value =
    how === 'by a tool' ? '{"tool_name": "generate_response", "arguments": {"n": 2}}' : '{"n": 2}';
  expect(await setUp([looks, value]).agent.call('go', { output })).toMatchObject({
    reason: 'stop',
    iterations: 2,
    output: { n: 2 },
  });
});

test('oxygent() works with toolSearch()', async () => {
  const search = '{"tool_name": "retrieve_tools", "arguments": {"query": "look"}}';
  const model = new ScriptedModel([search, looks, 'Seen.'], { features: { tools: false } });
  const look2 = tool({ name: 'look', description: 'Looks.', input, execute: () => 'seen' });
  const other = tool({ name: 'write', description: 'Writes.', input, execute: () => 'written' });
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [look2, other],
    use: [toolSearch(), oxygent()],
  });
  expect(await agent.call('Look')).toMatchObject({
    text: 'Seen.',
    toolsUsed: ['retrieve_tools', 'look'],
  });
  const told = model.requests.map(({ messages }) => textOf(messages[0]!));
  expect(told[0]).toContain('You have more tools than you see.');
  expect(told.map((text) => [...text.matchAll(/^Tool: (.*)$/gm)].map(([, name]) => name))).toEqual([
    ['retrieve_tools'],
    ['retrieve_tools', 'look'],
    ['retrieve_tools', 'look'],
  ]);
});

test('oxygent() works with a custom protocol and with native tool calls', async () => {
  const parse = (reply: string) => {
    const names = reply.startsWith('LOOK') ? reply.split(' ') : [];
    return names.length
      ? { type: 'calls' as const, calls: names.map(() => ({ name: 'look' })) }
      : { type: 'answer' as const, text: reply };
  };
  const own = setUp(['LOOK LOOK', 'no', 'Yes.'], {
    protocol: { parse, parallel: true, check: (reply) => (reply === 'no' ? 'Again.' : null) },
  });
  expect(await own.agent.call('Look')).toMatchObject({ text: 'Yes.', iterations: 3 });
  expect((await own.agent.messages()).flatMap(toolResultsOf)).toHaveLength(2);

  const image = {
    type: 'image',
    source: { type: 'url', url: 'https://example.com/a.png' },
  } as const;
  const snap = tool({
    name: 'snap',
    description: '',
    input,
    execute: () => ({ content: [image] }),
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'snap' }] }, 'Nice.'], {
    features: { media: ['image'] },
  });
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [snap],
    use: [oxygent({ protocol: false })],
  });
  await agent.call('Look');
  expect(model.requests[0]!.tools).toHaveLength(1);
  expect(model.requests[1]!.messages.at(-1)).toMatchObject({
    role: 'user',
    content: [{ type: 'text' }, image],
  });
});

const finished: CheckAnswer = (reply) =>
  reply.includes('TBD') ? 'Leave nothing open.' : undefined;

test.for<[how: string, given: OxygentOptions]>([
  ['of the preset', { reflect: finished }],
  ['of the protocol', { protocol: { check: finished } }],
  ['of both', { reflect: () => 'No.', protocol: { check: finished } }],
  ['with a custom parser', { reflect: finished, protocol: { parse: parseAnswer } }],
  ['with the default parser', { protocol: { parse: parseToolCalls, check: finished } }],
  ['with the model’s own calls', { reflect: finished, protocol: false }],
])('a check of answers %s also corrects empty answers', async ([, given]) => {
  const { agent, model } = setUp(['', 'TBD', 'Done.'], given);
  expect(await agent.call('Go')).toMatchObject({ text: 'Done.', iterations: 3 });
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toContain('empty');
  expect(model.requests[2]!.messages.slice(-2).map(textOf)).toEqual(['TBD', 'Leave nothing open.']);
});

function parseAnswer(reply: string): ParsedReply {
  return { type: 'answer', text: reply };
}

test('empty answers are corrected without a custom check, with both kinds of tool calls', async () => {
  for (const given of [{}, { protocol: false }, { protocol: { parse: parseAnswer } }] as const) {
    const { agent } = setUp([' \n', 'Done.'], given);
    expect(await agent.call('Go')).toMatchObject({ text: 'Done.', iterations: 2 });
  }
});

test('oxygent() rejects invalid options', () => {
  for (const options of [
    null,
    { maxRounds: -1 },
    { trustMode: 1 },
    { memoryUnit: 'words' },
    { promptVariables: 'x' },
    { promptVariables: { form: '%' } },
    { order: 1 },
    { reflect: 'x' },
    { shortMemorySize: 1.5 },
    { friendlyErrorText: 5 },
    { memoryMax: '1' },
    { protocol: { parse: 1 } },
  ]) {
    expect(() => oxygent(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
});
