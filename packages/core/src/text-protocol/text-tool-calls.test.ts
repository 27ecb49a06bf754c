import { expect, test } from 'vitest';
import * as z from 'zod';
import { agentTool } from '../several/agent-tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { recentQuestions, retrieval } from '@isoloop/recall';
import { structured } from '../output/structured.ts';
import { answersOnly, lastTurns, successfulTurns } from '../context/history-views.ts';
import { summarizeHistory } from '../context/summarize-history.ts';
import { outputGuards } from '@isoloop/guards';
import { multiAgent } from '../model/formatter/multi-agent.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { userMessage, textOf, toolResultsOf, toolUsesOf, type Msg } from '../message/msg.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import { fallback } from '../resilience/fallback.ts';
import { retry } from '../resilience/retry.ts';
import { wrapModel } from '../model/wrap-model.ts';
import { toUiMessages } from '../stream/ui/ui-messages.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { selectTools } from '../selection/select-tools.ts';
import { tool } from '../tool/tool.ts';
import { eventsOf } from '@test/support/scripted-agent.ts';
import { rolesOf } from '@test/roles-of.ts';
import { look } from '@test/support/plain-tools.ts';
import { parseOxygent } from '../../../presets/src/oxygent/parse-oxygent.ts';
import { parseToolCalls } from './reply-reader.ts';
import type { ReplyParser } from './parsed-reply.ts';
import { textToolCalls, type TextToolCallsOptions } from './text-tool-calls.ts';

const ran: string[] = [];
const add = tool({
  name: 'add',
  description: 'Adds. $& ${name} {{x}}',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => (ran.push('add'), a + b),
});
const lookUp = tool({
  name: 'look_up',
  description: 'Looks up',
  input: z.object({ word: z.string() }),
  execute: ({ word }) => `about ${word} $& \${x}`,
});
const pay = tool({
  name: 'pay',
  description: '',
  input: z.object({ n: z.number() }),
  needsApproval: true,
  execute: ({ n }) => `paid ${n}`,
});
const now = tool({ name: 'now', description: 'The time', input: {}, execute: () => 'noon' });

const json = (name: string, args: object = {}): string =>
  JSON.stringify({ tool_name: name, arguments: args });
const fenced = (text: string): string => `\`\`\`json\n${text}\n\`\`\``;
const sum = json('add', { a: 1, b: 2 });

interface Setting extends Omit<Partial<AgentOptions>, 'model'> {
  readonly protocol?: TextToolCallsOptions;
  readonly media?: readonly 'image'[];
}

function setUp(
  replies: readonly ScriptedReply[],
  { protocol, media = [], use = [], ...options }: Setting = {},
) {
  const model = new ScriptedModel(replies, { features: { tools: false, media } });
  let id = 0;
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [add, lookUp, now],
    generateId: () => `id${++id}`,
    now: () => 0,
    ...options,
    use: [...use, textToolCalls(protocol)],
  });
  ran.length = 0;
  return { model, agent };
}

/**
 * Returns the text, or the thinking, of the last step as a reader of the events has it at the end.
 */
function shown(events: readonly AgentEvent[], kind: 'text' | 'thinking' = 'text'): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'pre-reasoning') text = '';
    else if (event.type === 'step-reset') text = event.replacement ? textOf(event.replacement) : '';
    else if (event.type === 'reasoning-chunk' && event.kind === kind) text += event.delta;
  }
  return text;
}

const told = (messages: readonly Msg[]) =>
  messages.map((message) => `${message.role}: ${textOf(message)}`);

test('textToolCalls() lets a model without tool calling use three tools', async () => {
  const { agent, model } = setUp(
    [
      `<think>First the time.</think>I look at the clock.\n\n${fenced(json('now'))}`,
      fenced(`[${json('look_up', { word: 'tea' })},\n${sum}]`),
      'It is noon; tea is 3.',
    ],
    { systemPrompt: 'Be kind.' },
  );
  const events = await eventsOf(agent.stream('go'));
  const log = await agent.messages();
  expect(events.at(-1)).toMatchObject({
    result: {
      reason: 'stop',
      text: 'It is noon; tea is 3.',
      iterations: 3,
      toolsUsed: ['now', 'look_up', 'add'],
    },
  });
  expect(rolesOf(log)).toBe('user assistant tool assistant tool tool assistant');
  expect(log[1]!.content).toMatchObject([
    { type: 'thinking', thinking: 'First the time.' },
    { type: 'text', text: 'I look at the clock.' },
    { type: 'tool_use', id: expect.stringMatching(/^id/), name: 'now', input: {} },
  ]);
  expect(log[3]!.content).toMatchObject([
    { type: 'tool_use', name: 'look_up' },
    { type: 'tool_use', name: 'add', input: { a: 1, b: 2 } },
  ]);
  const [first, , last] = model.requests;
  expect(first).toMatchObject({ tools: [] });
  expect(first).not.toHaveProperty('toolChoice');
  const system = textOf(first!.messages[0]!);
  expect(system).toMatch(/^Be kind\.\n/);
  for (const { schema } of [add, lookUp, now]) {
    expect(system).toContain(
      `Tool: ${schema.name}\nDescription: ${schema.description}\nArguments: ${JSON.stringify(schema.parameters)}`,
    );
  }
  expect(told(last!.messages.slice(1))).toEqual([
    'user: go',
    `assistant: I look at the clock.\n\n${fenced(json('now'))}`,
    'user: Tool [now] execution result: noon',
    `assistant: ${fenced(`[${json('look_up', { word: 'tea' })},\n${sum}]`)}`,
    'user: Tool [look_up] execution result: about tea $& ${x}\n\nTool [add] execution result: 3',
  ]);
  // The messages are the same objects, because wire forms and token counts are cached by message.
  expect(last!.messages[0]).toBe(first!.messages[0]);
  expect(last!.messages[2]).toBe(model.requests[1]!.messages[2]);
  expect(last!.messages[3]).toBe(model.requests[1]!.messages[3]);
  expect(events.filter(({ type }) => type === 'step-reset')).toEqual([]);
  expect(events.filter(({ type }) => type === 'tool-input-chunk')).toMatchObject([
    { name: 'now', delta: '{}' },
    { name: 'look_up' },
    { name: 'add', delta: '{"a":1,"b":2}' },
  ]);
});

const replies = [
  'The answer is {"foo": [1, {"a": "}"}]} ok.\n',
  `Let me.\n\n${fenced(sum)}\nNow I wait.`,
  `<think>a {"tool_name"</think>\n x <think>b</think>${sum}`,
  `draft ${sum} no</think>\n\nFine <b>it</b> is.`,
  'one</think>two</think>three',
  'Words first. {"tool_name": "add", "arguments": {',
  '```js\nf({a: 1})\n```\n`x` [1] {x}',
  '<think>never ends',
  'Hi <think>still',
  '  \n',
  '🙂 {"tool_name":"add","arguments":{"a":1,"b":2,"c":"</think>🙂"}}',
] as const;

test.each(replies)(
  'readers get the text of the message, however the reply %s is split',
  async (said) => {
    for (const parse of [parseToolCalls, parseOxygent]) {
      const outcomes = new Set<string>();
      for (let cut = 0; cut <= said.length; cut++) {
        const parts = cut ? [said.slice(0, cut), said.slice(cut)] : said.split('');
        const deltas: ModelDelta[][] = [
          ...parts.map((delta): ModelDelta[] => [{ type: 'text', id: 't', delta }]),
          [{ type: 'finish', reason: 'stop' }],
        ];
        const { agent } = setUp([{ deltas }, 'end', 'end'], { protocol: { parse } });
        const all = await eventsOf(agent.stream('go'));
        const events = all.slice(0, all.findIndex(({ type }) => type === 'post-reasoning') + 1);
        const { message } = events.at(-1) as Extract<AgentEvent, { type: 'post-reasoning' }>;
        expect(shown(events)).toBe(textOf(message));
        expect(shown(events, 'thinking')).toBe(
          message.content
            .map((block) => (block.type === 'thinking' ? block.thinking : ''))
            .join(''),
        );
        expect(textOf(message)).not.toContain('think>');
        if (parse === parseToolCalls) expect(textOf(message)).not.toContain('tool_name');
        if (parse === parseOxygent)
          expect(events.filter(({ type }) => type === 'step-reset')).toEqual([]);
        outcomes.add(
          JSON.stringify([
            message.content.map(({ type: _type, ...block }) =>
              'id' in block ? { ...block, id: '' } : block,
            ),
            message.metadata?.['invalidReply'],
          ]),
        );
      }
      expect([...outcomes]).toHaveLength(1);
    }
  },
);

test('streams text at once, but withholds text that may be a call', async () => {
  const stops: { go: () => void; gate: Promise<void> }[] = [0, 1].map(() => {
    let go!: () => void;
    const gate = new Promise<void>((resolve) => (go = resolve));
    return { go, gate };
  });
  const { agent } = setUp([
    [
      { text: 'Look: {"foo"' },
      { wait: stops[0]!.gate, text: ': 1} so' },
      { wait: stops[1]!.gate, text: ' it is.' },
    ],
  ]);
  const heard: string[] = [];
  for await (const event of agent.stream('go')) {
    if (event.type !== 'reasoning-chunk') continue;
    heard.push(event.delta);
    if (heard.join('') === 'Look:') stops[0]!.go();
    if (heard.join('') === 'Look: {"foo": 1} so') stops[1]!.go();
  }
  expect(heard.join('')).toBe('Look: {"foo": 1} so it is.');
});

test('after an interrupt, the log keeps only the released text of the reply', async () => {
  const interrupted = (): Promise<never> => (agent.interrupt(), new Promise(() => {}));
  const { agent } = setUp([
    [{ text: 'I look. {"tool_name": "add", ' }, { wait: interrupted }],
    'fine',
  ]);
  const result = await agent.call('go');
  expect(result.reason).toBe('interrupted');
  expect(told(await agent.messages())).toEqual([
    'user: go',
    'assistant: I look.',
    `assistant: ${result.text}`,
  ]);
  expect((await agent.call('on')).text).toBe('fine');
});

test('an invalid reply counts as an iteration, is answered with a correction and is hidden from readers', async () => {
  const broken = 'Well. {"tool_name": "add"}';
  const { agent, model } = setUp([broken, sum, 'three']);
  const events = await eventsOf(agent.stream('go'));
  const { result } = events.at(-1) as Extract<AgentEvent, { type: 'run-end' }>;
  expect(result).toMatchObject({ text: 'three', iterations: 3 });
  expect(events.filter(({ type }) => type === 'step-reset')).toMatchObject([
    { reason: 'protocol' },
  ]);
  const correction = expect.stringContaining('user: "arguments" in the call of "add" must be');
  expect(told(model.requests[1]!.messages.slice(1))).toEqual([
    'user: go',
    `assistant: ${broken}`,
    correction,
  ]);
  const log = await agent.messages();
  expect(told(log.slice(0, 3))).toEqual(['user: go', `assistant: ${broken}`, correction]);
  expect(log.map(({ metadata }) => metadata?.['correction'])).toEqual([
    undefined,
    'reply',
    'message',
    undefined,
    undefined,
    undefined,
  ]);
  expect(log[1]!.metadata).toMatchObject({ finishReason: 'stop', usage: { inputTokens: 10 } });
  expect(new Set(log.map(({ id }) => id)).size).toBe(log.length);
  expect(toUiMessages(log)).toMatchObject([
    { role: 'user' },
    {
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'dynamic-tool' },
        { type: 'step-start' },
        { text: 'three' },
      ],
    },
  ]);
});

test('a model that sends only invalid replies reaches the limit of iterations', async () => {
  const { agent } = setUp(['{"tool_name":"a"}', '{"tool_name":"a"}', 'in short'], {
    limits: { iterations: 2 },
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'max-iterations', text: 'in short' });
});

test('context policies that select history leave corrections out', async () => {
  const { agent, model } = setUp(['{"tool_name":"x"}', 'one', 'two'], { use: [answersOnly()] });
  await agent.call('first');
  await agent.call('second');
  expect(told(model.requests[2]!.messages.slice(1))).toEqual([
    'user: first',
    'assistant: one',
    'user: second',
  ]);
  const failing = setUp(['{"tool_name":"x"}', { error: new Error('down') }, 'two'], {
    use: [successfulTurns()],
  });
  await failing.agent.call('first', { throwOnError: false });
  await failing.agent.call('second');
  expect(told(failing.model.requests[2]!.messages.slice(1))).toEqual(['user: second']);
});

test('in a resumed run, a correction belongs to the turn of the question', async () => {
  const ask = tool({ name: 'ask', description: '', input: {} });
  const views = [successfulTurns(), lastTurns(1), answersOnly()];
  const { agent, model } = setUp([json('ask'), '{"tool_name":"x"}', 'one', 'two'], {
    use: views,
    tools: [ask],
  });
  const [pending] = (await agent.call('first')).pending;
  await agent.call([{ toolUseId: pending!.toolUseId, type: 'result', output: 'yes' }]);
  await agent.call('second');
  expect(told(model.requests[3]!.messages.slice(1))).toEqual([
    'user: first',
    'assistant: one',
    'user: second',
  ]);
});

test('a resumed run recalls memories for the question, not for a correction', async () => {
  const ask = tool({ name: 'ask', description: '', input: {} });
  const asked: string[] = [];
  const retriever = { retrieve: async (query: string) => (asked.push(query), []) };
  const { agent } = setUp(['{"tool_name":"x"}', json('ask'), 'one'], {
    use: [retrieval({ retriever })],
    tools: [ask],
  });
  const [pending] = (await agent.call('first')).pending;
  await agent.call([{ toolUseId: pending!.toolUseId, type: 'result', output: 'yes' }]);
  expect(asked).toEqual(['first', 'first']);
});

test('recentQuestions() returns only messages of the user, not corrections', async () => {
  const queries: string[] = [];
  const retriever = { retrieve: async (query: string) => (queries.push(query), []) };
  const { agent } = setUp(['{"tool_name":"x"}', 'one', 'two'], {
    use: [retrieval({ retriever, query: recentQuestions() })],
  });
  await agent.call('first');
  await agent.call('second');
  expect(queries).toEqual(['first', 'first\nsecond']);
});

test('an empty reply is invalid', async () => {
  const { agent, model } = setUp(['<think>so</think> \n', 'one']);
  const events = await eventsOf(agent.stream('go'));
  expect(events.at(-1)).toMatchObject({ result: { text: 'one', iterations: 2 } });
  // The readers have its thinking.
  expect(events.filter(({ type }) => type === 'step-reset')).toMatchObject([
    { reason: 'replaced' },
  ]);
  expect(told(model.requests[1]!.messages.slice(1))).toEqual([
    'user: go',
    expect.stringContaining('user: Your reply is empty'),
  ]);
});

test('`parse` and `check` options do not disable the check for empty replies, and `check` may word its correction', async () => {
  const parses = [undefined, (reply: string) => ({ type: 'answer', text: reply }) as const];
  for (const parse of parses) {
    const protocol = { check: () => undefined, ...(parse && { parse }) };
    const { agent, model } = setUp([' \n', 'one'], { protocol });
    expect(await agent.call('go')).toMatchObject({ text: 'one', iterations: 2 });
    expect(told(model.requests[1]!.messages.slice(1))).toEqual([
      'user: go',
      expect.stringContaining('user: Your reply is empty'),
    ]);
  }
  const own = setUp(['', 'eins'], {
    protocol: { check: (reply) => (reply ? null : 'Bitte antworte.') },
  });
  await own.agent.call('go');
  expect(told(own.model.requests[1]!.messages.slice(-1))).toEqual(['user: Bitte antworte.']);
});

test('`check` may send an answer back, and gets the state of the call', async () => {
  const seen: unknown[] = [];
  const { agent, model } = setUp(
    [sum, { thinking: 'Hm. ', text: '<think>So.</think>Three' }, 'Three, as 1 + 2.'],
    {
      protocol: {
        check: async (reply, { thinking, tools, messages, finishReason, signal }) => {
          seen.push([
            reply,
            thinking,
            tools.length,
            messages.at(-1)?.role,
            finishReason,
            signal.aborted,
          ]);
          return reply.includes('1') ? null : 'Say why.';
        },
      },
    },
  );
  const events = await eventsOf(agent.stream('go'));
  expect(shown(events)).toBe('Three, as 1 + 2.');
  expect(seen).toEqual([
    ['Three', 'Hm. So.', 3, 'tool', 'stop', false],
    ['Three, as 1 + 2.', '', 3, 'user', 'stop', false],
  ]);
  expect(told(model.requests[2]!.messages.slice(-2))).toEqual([
    'assistant: Three',
    'user: Say why.',
  ]);
  expect(events.filter(({ type }) => type === 'step-reset')).toMatchObject([
    { reason: 'protocol' },
  ]);
});

test('`check` does not apply to a summary of the history', async () => {
  const failures: unknown[] = [];
  const onError = (error: unknown): void => void failures.push(error);
  const context = summarizeHistory({
    window: 200,
    reserveOutput: 0,
    summaryTokens: 50,
    roundTo: 1,
    onError,
  });
  const seen: string[] = [];
  const check = (reply: string) => (
    seen.push(reply),
    reply === 'TBD' ? 'Leave nothing open.' : null
  );
  const { agent, model } = setUp(['one', 'TBD', 'two'], {
    use: [context],
    tools: [],
    protocol: { check },
  });
  await agent.call('word '.repeat(160));
  expect(await agent.call('second')).toMatchObject({ text: 'two' });
  expect([model.requests.length, failures, seen]).toEqual([3, [], ['one', 'two']]);
  expect(told(model.requests[2]!.messages).join()).toContain('TBD');
});

test('a custom parser may pass a reply on to the default parser', async () => {
  const { agent } = setUp(['ADD 1 2', sum, 'DONE: three'], {
    protocol: {
      parse: async (reply, { tools }, otherwise) => {
        const [, a, b] = /^ADD (\d) (\d)$/.exec(reply) ?? [];
        if (a)
          return {
            type: 'calls',
            calls: [{ name: tools[0]!.name, arguments: { a: Number(a), b: Number(b) } }],
          };
        return reply.startsWith('DONE: ')
          ? { type: 'answer', text: reply.slice(6) }
          : otherwise(reply);
      },
    },
  });
  const events = await eventsOf(agent.stream('go'));
  expect(ran).toEqual(['add', 'add']);
  expect(shown(events)).toBe('three');
  expect(events.filter(({ type }) => type === 'step-reset')).toEqual([]);
});

test.each([
  [{ parse: () => undefined as never }, 'The result of parse must be an object'],
  [{ parse: () => ({ type: 'call' }) as never }, "type must be 'answer' or 'calls' or 'invalid'"],
] as const)(
  'an option whose function returns an invalid value fails the call: %o',
  async (protocol, message) => {
    const { agent } = setUp(['one'], { protocol });
    await expect(agent.call('go')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining(message),
    });
  },
);

test('if a custom parser returns an empty list of calls, the reply is an answer', async () => {
  const parse: ReplyParser = (reply) => ({
    type: 'calls',
    calls: [...reply.matchAll(/CALL (\w+)/g)].map(([, name]) => ({ name: name! })),
  });
  const model = new ScriptedModel(['', 'CALL look', 'Seen.']);
  const use = [textToolCalls({ parse })];
  const result = await new ReActAgent({ name: 'a', model, tools: [look], use }).call('go');
  expect(result).toMatchObject({ text: 'Seen.', iterations: 3, toolsUsed: ['look'] });
});

test('textToolCalls() rejects invalid options', () => {
  for (const options of [{ parse: 1 }, { check: 'x' }, { parallel: 1 }, { prompt: '' }]) {
    expect(() => textToolCalls(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
});

test('an error of `parse` or `check` fails the call, and the tokens of the reply are counted', async () => {
  const fails = (): Promise<never> => Promise.reject(new Error('down'));
  for (const [protocol, message] of [
    [{ check: fails }, 'wrapReply() of "textToolCalls" failed: down'],
    [{ parse: fails }, 'down'],
  ] as const) {
    const { agent } = setUp(['one'], { protocol });
    const failed = await agent.call('go', { throwOnError: false });
    expect(failed).toMatchObject({
      reason: 'error',
      error: { message },
      usage: { inputTokens: 10 },
    });
  }
});

test('an interrupt ends the wait for `check`', async () => {
  const { agent } = setUp(['one', 'two'], {
    protocol: { check: () => (agent.interrupt(), new Promise<never>(() => {})) },
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'interrupted' });
});

test('parseOxygent() reads one call per reply, and JSON without a call is invalid', async () => {
  const { agent, model } = setUp([`${fenced(sum)}\n${fenced(json('now'))}`, '{"foo":1}', 'three'], {
    protocol: { parse: parseOxygent, parallel: false },
  });
  expect(await agent.call('go')).toMatchObject({
    text: 'three',
    iterations: 3,
    toolsUsed: ['add'],
  });
  expect(textOf(model.requests[0]!.messages[0]!)).toContain('Call one tool at a time.');
  const bare = setUp(
    ['{"tool_name":"now"}', '{"tool_name":"add","arguments":{"a":NaN,"b":1}}', 'fine'],
    {
      protocol: { parse: parseOxygent },
    },
  );
  expect((await bare.agent.call('go')).text).toBe('fine');
  const results = (await bare.agent.messages()).flatMap(toolResultsOf);
  expect(results).toMatchObject([
    { output: 'noon' },
    { state: 'error', output: expect.stringContaining('do not fit its schema') },
  ]);
});

test('with `parallel: false`, a reply with several calls is invalid', async () => {
  const { agent, model } = setUp([`[${sum},${sum}]`, 'fine'], { protocol: { parallel: false } });
  await agent.call('go');
  expect(ran).toEqual([]);
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toContain('Only one tool');
});

test('the prompt states the tool choice; with the choice `none` it lists no tools, and a call is corrected', async () => {
  const { agent, model } = setUp([sum, sum, 'fine', 'Hi', 'Ho']);
  await agent.call('go');
  await agent.call('go', { toolChoice: 'required' });
  await agent.call('go', { toolChoice: { name: 'add' } });
  const { agent: other, model: asked } = setUp([sum, 'fine']);
  await other.call('go', { toolChoice: 'none' });
  const systems = model.requests.map(({ messages }) => textOf(messages[0]!));
  expect(systems.map((text) => /Call (a tool|the tool "add") now/.exec(text)?.[1])).toEqual([
    undefined,
    undefined,
    undefined,
    'a tool',
    'the tool "add"',
  ]);
  expect(asked.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
    ['user'],
    ['user', 'assistant', 'user'],
  ]);
  expect(textOf(asked.requests[1]!.messages.at(-1)!)).toContain('No tool can be called any more');
});

test('`prompt` replaces the prompt, and placeholders in its text are kept as they are', async () => {
  const { agent, model } = setUp(['fine'], {
    protocol: {
      prompt: ({ toolsText, parallel, toolChoice, tools }) =>
        `工具 ${tools.length} ${parallel} ${String(toolChoice)}\n${toolsText}`,
    },
  });
  await agent.call('go');
  expect(textOf(model.requests[0]!.messages[0]!)).toMatch(
    /^\n?工具 3 true auto\nTool: add\nDescription: Adds\. \$& \$\{name\} \{\{x\}\}\n/,
  );
});

test('a request without tools has no prompt for calls, and its reply is text', async () => {
  const { agent, model } = setUp([sum, `<think>x</think>So: {"tool_name": "add"}`], {
    limits: { iterations: 1 },
    protocol: { check: () => 'No.' },
  });
  const events = await eventsOf(agent.stream('go'));
  expect(events.at(-1)).toMatchObject({
    result: { reason: 'max-iterations', text: 'So: {"tool_name": "add"}' },
  });
  expect(told(model.requests[1]!.messages)).toEqual([
    'user: go',
    `assistant: ${sum}`,
    'user: Tool [add] execution result: 3',
    expect.stringMatching(/^user: Your steps/),
  ]);
  expect(
    events.flatMap((event) => (event.type === 'summary-chunk' ? event.delta : '')).join(''),
  ).toBe('So: {"tool_name": "add"}');
  const plain = setUp([sum], { tools: [] });
  expect(await plain.agent.call('go')).toMatchObject({ text: sum });
});

test('a call beyond the limit of tool calls is corrected', async () => {
  const { agent, model } = setUp([sum, sum, 'fine'], { limits: { toolCalls: 1 } });
  expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'fine' });
  expect(ran).toEqual(['add']);
  expect(textOf(model.requests[2]!.messages.at(-1)!)).toContain('No tool can be called');
});

test('calls that the model server makes are kept, and the text beside them is text', async () => {
  const { agent, model } = setUp([
    { text: 'I add: {"a"', toolCalls: [{ name: 'add', input: { a: 1, b: 2 }, id: 'c1' }] },
    'three',
  ]);
  const events = await eventsOf(agent.stream('go'));
  expect((await agent.messages())[1]!.content).toMatchObject([
    { text: 'I add: {"a"' },
    { type: 'tool_use', id: 'c1' },
  ]);
  expect(shown(events)).toBe('three');
  expect(told(model.requests[1]!.messages.slice(2))).toEqual([
    `assistant: I add: {"a"\n\n${fenced(sum)}`,
    'user: Tool [add] execution result: 3',
  ]);
});

test('thinking, media and provider metadata are kept, and several texts become one', async () => {
  const tie = { providerMetadata: { p: { id: 1 } } };
  const deltas: ModelDelta[][] = [
    [{ type: 'thinking', id: 'x', delta: 'Hm', signature: 's' }],
    [
      { type: 'text', id: '0', delta: 'a', ...tie },
      { type: 'text', id: '1', delta: 'b' },
    ],
    [{ type: 'file', mediaType: 'image/png', data: 'AA' }],
    [{ type: 'finish', reason: 'stop' }],
  ];
  const { agent } = setUp([{ deltas }]);
  expect((await agent.call('go')).message.content).toEqual([
    { type: 'thinking', thinking: 'Hm', signature: 's' },
    { type: 'text', text: 'a\nb', ...tie },
    { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AA' } },
  ]);
});

test('an image alone is an answer, not an empty reply', async () => {
  const { agent } = setUp([{ deltas: [[{ type: 'file', mediaType: 'image/png', data: 'AA' }]] }]);
  expect(await agent.call('go')).toMatchObject({
    reason: 'stop',
    message: { content: [{ type: 'image' }] },
  });
});

test('an empty result of `check` accepts the answer', async () => {
  const { agent } = setUp(['one'], { protocol: { check: () => '' } });
  expect(await agent.call('go')).toMatchObject({ text: 'one', iterations: 1 });
});

test('after a reset it streams the text again and nothing else; the number of resets is limited', async () => {
  const deltas: ModelDelta[][] = [
    [{ type: 'thinking', id: 'x', delta: 'Hm' }],
    ['<think>a</think>b', '</think>', 'c', ...Array.from({ length: 20 }, () => '</think>d')].map(
      (delta) => ({
        type: 'text',
        id: 't',
        delta,
      }),
    ),
  ];
  const { agent } = setUp([{ deltas }]);
  const events = await eventsOf(agent.stream('go'));
  const { result } = events.at(-1) as Extract<AgentEvent, { type: 'run-end' }>;
  const thoughts = ['Hm', 'a', 'b', 'c', ...Array.from({ length: 19 }, () => 'd')];
  expect(result.message.content).toEqual([
    ...thoughts.map((thinking) => ({ type: 'thinking', thinking })),
    { type: 'text', text: 'd' },
  ]);
  expect(events.filter(({ type }) => type === 'step-reset')).toHaveLength(2);
  expect(shown(events)).toBe('d');
});

test('a text that is only a call leaves no text block for its provider metadata', async () => {
  const { agent } = setUp([
    { deltas: [[{ type: 'text', id: 't', delta: sum, providerMetadata: { p: 1 } }]] },
    'three',
  ]);
  await agent.call('go');
  expect((await agent.messages())[1]!.content.map(({ type }) => type)).toEqual(['tool_use']);
});

test('the calls and results are readable text for a model with multiAgent()', async () => {
  const inner = new ScriptedModel([sum, 'three'], { features: { tools: false } });
  const agent = new ReActAgent({
    name: 'a',
    model: multiAgent(inner),
    tools: [add],
    use: [textToolCalls()],
  });
  await agent.call('go');
  expect(told(inner.requests[1]!.messages.slice(2))).toEqual([
    `assistant: ${sum}`,
    'user: Tool [add] execution result: 3',
  ]);
});

test('a hook may change the text of a correction', async () => {
  const { agent, model } = setUp(['{"tool_name":"x"}', 'fine']);
  agent.addHook({
    on: {
      'post-reasoning': ({ message, gotoReasoning }) => {
        if (message.metadata?.['invalidReply']) gotoReasoning([userMessage('Again.')]);
      },
    },
  });
  await agent.call('go');
  expect(told(model.requests[1]!.messages.slice(1))).toEqual(['user: go', 'user: Again.']);
});

test('a retry, inside or outside of textToolCalls(), takes back a reply that had begun', async () => {
  const model = () =>
    new ScriptedModel(
      [
        { text: 'I look. {"tool_name', error: Object.assign(new Error('reset'), { status: 503 }) },
        sum,
        'three',
      ],
      {
        features: { tools: false },
      },
    );
  const again = retry({ afterFirstDelta: true, sleep: () => Promise.resolve() });
  for (const extensions of [
    [textToolCalls(), again],
    [again, textToolCalls()],
  ]) {
    const agent = new ReActAgent({ name: 'a', model: model(), tools: [add], use: [...extensions] });
    const events = await eventsOf(agent.stream('go'));
    expect(events.at(-1)).toMatchObject({ result: { text: 'three' } });
    expect((await agent.messages())[1]!.content).toMatchObject([{ type: 'tool_use', name: 'add' }]);
    expect(shown(events)).toBe('three');
  }
});

test('a fallback model without tool calling gets the tools as text', async () => {
  const other = new ScriptedModel([sum, 'three'], { features: { tools: false } });
  const first = () =>
    new ScriptedModel([{ error: new Error('down') }, { error: new Error('down') }]);
  const agent = new ReActAgent({
    name: 'a',
    model: first(),
    tools: [add],
    use: [textToolCalls(), fallback([other])],
  });
  expect((await agent.call('go')).text).toBe('three');
  const protocol = textToolCalls();
  const text = new ScriptedModel([sum, '{"tool_name":"add"}', 'three'], {
    features: { tools: false },
  });
  const native = new ScriptedModel([
    { error: new Error('down') },
    { error: new Error('down') },
    { error: new Error('down') },
  ]);
  const parts = [{ wrapReply: protocol.wrapReply! }, fallback([wrapModel(text, protocol)])];
  const mixed = new ReActAgent({ name: 'a', model: native, tools: [add], use: parts });
  expect((await mixed.call('go')).text).toBe('three');
  expect(native.requests[0]!.tools).toHaveLength(1);
});

test('output guards see the text of a reply, but not its calls', async () => {
  const seen: string[] = [];
  const rule = { name: 'r', find: (text: string) => (seen.push(text), []) };
  const { agent } = setUp([`Fine. ${sum}`, 'three'], {
    use: [outputGuards([rule], { lookahead: 8 })],
  });
  const events = await eventsOf(agent.stream('go'));
  expect(seen.join()).not.toContain('tool_name');
  expect(shown(events)).toBe('three');
  expect(ran).toEqual(['add']);
});

test('structured output works with its tool and with JSON in the answer', async () => {
  const city = z.object({ name: z.string() });
  for (const [reply, mode] of [
    [json('generate_response', { name: 'Rome' }), 'tool'],
    ['{"name": "Rome"}', 'prompt'],
  ] as const) {
    const { agent } = setUp([sum, 'Rome!', reply]);
    const result = await agent.call('go', { output: structured(city, { mode }) });
    expect(result).toMatchObject({
      reason: 'stop',
      output: { name: 'Rome' },
      text: '{"name":"Rome"}',
    });
  }
  const late = setUp([json('generate_response', { name: 'Rome' })], { limits: { iterations: 0 } });
  expect(await late.agent.call('go', { output: structured(city) })).toMatchObject({
    output: { name: 'Rome' },
  });
});

test('approvals and external tools suspend the run, and another agent continues it from the saved state', async () => {
  const ask = tool({ name: 'ask', description: '', input: {} });
  const tools = [pay, ask, now];
  const { agent } = setUp([`[${json('pay', { n: 1 })},${json('ask')},${json('now')}]`], { tools });
  const { reason, pending } = await agent.call('go');
  expect([reason, pending.map(({ name, kind }) => `${name} ${kind}`)]).toEqual([
    'suspended',
    ['pay approval', 'ask external'],
  ]);
  const state = JSON.parse(JSON.stringify(await saveState(agent)));
  const other = setUp(['done'], { tools });
  await loadState(other.agent, state);
  const [first, second] = pending;
  const result = await other.agent.call([
    { toolUseId: first!.toolUseId, type: 'edit', input: { n: 2 } },
    { toolUseId: second!.toolUseId, type: 'result', output: 'yes' },
  ]);
  expect(result.text).toBe('done');
  expect(told(other.model.requests[0]!.messages.slice(-1))).toEqual([
    'user: Tool [pay] execution result: paid 2\n\nTool [ask] execution result: yes\n\nTool [now] execution result: noon',
  ]);
});

test('a run that was paused after a correction resumes with the correction', async () => {
  const { agent, model } = setUp(['{"tool_name":"x"}', sum, 'three']);
  const off = agent.addHook({
    on: { 'post-reasoning': () => void agent.interrupt({ mode: 'pause' }) },
  });
  expect(await agent.call('go')).toMatchObject({ reason: 'suspended' });
  off();
  expect((await agent.call()).text).toBe('three');
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toContain('"arguments" in the call of');
});

test('works with an agent as a tool', async () => {
  const child = setUp([json('now'), 'noon it is'], { name: 'clock' });
  const clock = agentTool(child.agent, { description: 'Knows the time' });
  const { agent, model } = setUp([json('call_clock', { message: 'Time?' }), 'It is noon.'], {
    tools: [clock],
  });
  expect((await agent.call('go')).text).toBe('It is noon.');
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toContain('noon it is');
});

test('media in results come before the text if the model reads them, and are placeholders in it otherwise', async () => {
  const image = {
    type: 'image',
    source: { type: 'url', url: 'https://x/cat.png' },
    name: 'cat',
  } as const;
  const audio = {
    type: 'audio',
    source: { type: 'base64', mediaType: 'audio/wav', data: 'AA' },
  } as const;
  const snap = tool({
    name: 'snap',
    description: '',
    input: {},
    execute: () => ({ content: [{ type: 'text', text: 'Here:' }, image, audio] }),
  });
  for (const media of [['image'], []] as const) {
    const { agent, model } = setUp([`[${json('snap')},${json('now')}]`, 'a cat'], {
      tools: [snap, now],
      media,
    });
    await agent.call('go');
    const text =
      'Tool [snap] execution result: Here:\n[image: cat https://x/cat.png]\n[audio: audio/wav]\n\nTool [now] execution result: noon';
    expect(model.requests[1]!.messages.at(-1)!.content).toEqual([
      ...(media.length ? [image] : []),
      { type: 'text', text },
    ]);
  }
});

test('selectTools() selects by the message of the user, not by a correction', async () => {
  const asked: string[] = [];
  const by = (question: string) => (asked.push(question), ['now']);
  const { agent, model } = setUp([sum, '{"tool_name":"now"}', 'fine'], {
    use: [selectTools({ by, alwaysOffer: [] })],
  });
  expect((await agent.call('What time?')).text).toBe('fine');
  expect(asked).toEqual(['What time?']);
  expect(ran).toEqual([]);
  expect(textOf(model.requests[0]!.messages[0]!)).not.toContain('Tool: add');
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toMatch(
    /^Tool \[add\] execution result: .*(not|no) /i,
  );
});

test('the model gets an error result for arguments that do not fit the schema, and for an unknown tool', async () => {
  const { agent, model } = setUp([`[${json('add', { a: 'x' })},${json('nope')}]`, 'fine']);
  await agent.call('go');
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toMatch(
    /Tool \[add\] execution result: .*do not fit its schema[^]*Tool \[nope\] execution result: .*Tool not found/,
  );
});

test('shows invalid arguments that another model wrote unchanged', async () => {
  const { agent, model } = setUp([{ toolCalls: [{ name: 'add', input: '{"a":' }] }, 'fine']);
  await agent.call('go');
  expect(textOf(model.requests[1]!.messages[2]!)).toBe(
    fenced('{"tool_name":"add","arguments":"{\\"a\\":"}'),
  );
  expect(toolUsesOf((await agent.messages())[1]!)).toMatchObject([{ input: null, raw: '{"a":' }]);
});

test.for([undefined, parseOxygent])(
  'in its own turn the model reads a call as a person edited it, with parser %#',
  async (parse) => {
    const reply = `I pay.\n${fenced(json('pay', { n: 111 }))}`;
    const { agent, model } = setUp([reply, 'done'], {
      tools: [pay],
      ...(parse && { protocol: { parse } }),
    });
    const { pending } = await agent.call('go');
    await agent.call([{ toolUseId: pending[0]!.toolUseId, type: 'edit', input: { n: 222 } }]);
    const seen = model.requests[1]!.messages.map(textOf).join('\n');
    expect(seen).toContain(json('pay', { n: 222 }));
    expect(seen).not.toContain('111');
    expect(seen).toContain('paid 222');
  },
);
