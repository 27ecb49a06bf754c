import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  AgentError,
  assistantMessage,
  InMemoryMemory,
  MemoryStore,
  outputText,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentEvent,
  type AgentHook,
  type AgentOptions,
  type AgentResult,
  type JsonValue,
  type Middleware,
  type ModelRequest,
  type Msg,
  type Tool,
} from '@isoloop/core';
import { fitContext } from '@isoloop/core/context';
import {
  inputGuards,
  maskPii,
  outputGuards,
  outputLength,
  regexRule,
  type InputStage,
  type OutputRule,
} from '@isoloop/core/guards';
import {
  circuitBreaker,
  concurrency,
  errorMessage,
  fallback,
  friendlyErrors,
  humanInTheLoop,
  responseCache,
  retry,
  Semaphore,
} from '@isoloop/core/middleware';
import { metrics } from '@isoloop/core/observe';
import { jsonMode } from '@isoloop/core/output';
import { arcReactor } from '@isoloop/core/presets';
import { retrieval } from '@isoloop/core/recall';
import { textStream } from '@isoloop/core/stream';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';
import { arc, estimateTokens } from '@isoloop/core/tokens';
import { byKeyword, selectTools } from '@isoloop/core/tools';

// What the document of Arc Reactor's executor says, checked through the public API alone.

type Options = Partial<AgentOptions>;

interface Made {
  readonly agent: ReActAgent;
  readonly model: ScriptedModel;
}

function make(replies: readonly ScriptedReply[], { use = [], ...options }: Options = {}): Made {
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({ name: 'assistant', model, use: [arcReactor(), use], ...options });
  return { agent, model };
}

/** Creates a tool that records its arguments in `ran` and answers with its name. */
function named(name: string, ran: JsonValue[] = [], description = `Runs ${name}`): Tool {
  return tool({
    name,
    description,
    input: { type: 'object', properties: { at: { type: 'number' } } },
    execute(input) {
      ran.push(input as JsonValue);
      return `${name} done`;
    },
  });
}

const calls = (...names: readonly string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({ name })),
});

const times = (count: number, name: string): ScriptedStep =>
  calls(...Array.from({ length: count }, () => name));

const lineOf = (message: Msg): string =>
  [
    `${message.role}:`,
    textOf(message),
    ...toolUsesOf(message).map(({ name }) => `${name}()`),
    ...toolResultsOf(message).map(({ output }) => outputText(output)),
  ]
    .filter(Boolean)
    .join(' ');

/** Returns the messages of a request without its system prompt, as one line each. */
const linesOf = (request: ModelRequest | undefined): readonly string[] =>
  (request?.messages ?? []).filter(({ role }) => role !== 'system').map(lineOf);

const systemOf = (request: ModelRequest | undefined): readonly string[] =>
  (request?.messages ?? []).filter(({ role }) => role === 'system').map(textOf);

const offeredIn = (request: ModelRequest | undefined): readonly string[] =>
  (request?.tools ?? []).map(({ name }) => name);

/** Returns the results that a request shows to the model. */
const resultsIn = (request: ModelRequest | undefined): readonly string[] =>
  (request?.messages ?? [])
    .flatMap((message) => toolResultsOf(message))
    .map(({ output }) => outputText(output));

const withoutWaits = (waits: number[] = [], random = 0.5, attempts = 3): Middleware =>
  retry({
    attempts,
    random: () => random,
    sleep: async (ms) => void waits.push(ms),
  });

const failing = (message: string): ScriptedStep => ({ error: new Error(message) });

/** `tokens` tokens of Latin letters, by the document's estimate. */
const latin = (tokens: number): string => 'a'.repeat(tokens * 4);

/** `tokens` tokens of Hangul: three letters are two tokens. */
const hangul = (tokens: number): string => '가'.repeat((tokens * 3) / 2);

/** Trims to `budget` tokens, beside the tokens of the system prompt. */
const trimTo = (budget: number): Middleware =>
  fitContext({ window: budget + 100, reserveOutput: 100, profile: arc, reference: true });

const turns = (count: number): readonly Msg[] =>
  Array.from({ length: count }, (_, at) => [
    userMessage(`question ${at + 1}`),
    assistantMessage(`answer ${at + 1}`),
  ]).flat();

const returned = { throwOnError: false } as const;

async function eventsOf(stream: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function textsOf(stream: AsyncIterable<string>): Promise<string> {
  let all = '';
  for await (const text of stream) all += text;
  return all;
}

function useClock(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

describe('the limit of tool calls', () => {
  test('ends with the tenth tool call even if it is one of several rounds', async () => {
    const { agent, model } = make([times(4, 'look'), times(5, 'look'), times(1, 'look'), 'Done.'], {
      tools: [named('look')],
    });
    const { text } = await agent.call('Look.');
    expect(text).toBe('Done.');
    expect(model.requests.map((request) => request.tools.length)).toEqual([1, 1, 1, 0]);
  });

  test('refuses the eleventh call of one reply and runs the ten before it', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([times(11, 'look'), 'Done.'], { tools: [named('look', ran)] });
    await agent.call('Look.');
    expect(ran).toHaveLength(10);
    const results = resultsIn(model.requests[1]);
    expect(results.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 'look done'));
    expect(results[10]).toMatch(/limit.*10|10.*limit/iu);
  });

  test('counts calls of unknown tools and calls that a hook rejects', async () => {
    const { agent, model } = make([calls('fly', 'look'), 'Done.'], {
      tools: [named('look')],
      limits: { toolCalls: 2 },
      use: [{ on: { 'pre-acting': (_event, control) => control.reject('Not now.') } }],
    });
    await agent.call('Look.');
    expect(offeredIn(model.requests[1])).toEqual([]);
  });

  test('starts from zero in each call of the agent', async () => {
    const ran: JsonValue[] = [];
    const { agent } = make([times(2, 'look'), 'One.', times(2, 'look'), 'Two.'], {
      tools: [named('look', ran)],
      limits: { toolCalls: 2 },
    });
    await agent.call('Look.');
    await agent.call('Look again.');
    expect(ran).toHaveLength(4);
  });

  test('leaves names of refused calls out of the tools used', async () => {
    const { agent } = make([calls('look', 'send'), 'Done.'], {
      tools: [named('look'), named('send')],
      limits: { toolCalls: 1 },
    });
    expect((await agent.call('Look and send.')).toolsUsed).toEqual(['look']);
  });

  test('drops the calls of the last reply and keeps its text, streaming or not', async () => {
    const replies = [calls('look'), { text: 'Found it.', ...calls('look') }];
    const options = { tools: [named('look')], limits: { toolCalls: 1 } };
    const whole = await make(replies, options).agent.call('Look.');
    const { agent } = make(replies, options);
    const stream = agent.stream('Look.');
    const events = await eventsOf(stream);
    const streamed = await stream.result;
    for (const { text, message } of [whole, streamed]) {
      expect(text).toBe('Found it.');
      expect(toolUsesOf(message)).toEqual([]);
    }
    expect(events.filter(({ type }) => type === 'pre-acting')).toHaveLength(1);
    expect((await agent.messages()).at(-1)).toEqual(streamed.message);
  });

  test('adds the last request without tools to the usage', async () => {
    const usage = { inputTokens: 7, outputTokens: 2 };
    const { agent } = make(
      [
        { ...calls('look'), usage },
        { ...calls('look'), usage },
        { text: 'Done.', usage },
      ],
      { tools: [named('look')], limits: { toolCalls: 2 } },
    );
    expect((await agent.call('Look.')).usage).toMatchObject({ inputTokens: 21, outputTokens: 6 });
  });

  test('gives an answer that later turns see as any other', async () => {
    const { agent, model } = make([calls('look'), 'Half of it.', 'Hello.'], {
      tools: [named('look')],
      limits: { toolCalls: 1 },
    });
    await agent.call('Look.');
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual([
      'user: Look.',
      'assistant: Half of it.',
      'user: Hi',
    ]);
    expect(offeredIn(model.requests[2])).toEqual(['look']);
  });
});

describe('tool calls of one reply', () => {
  test('run at the same time, and the model reads the results in their order', async () => {
    const open = new Map<string, () => void>();
    const waiting = (name: string): Tool =>
      tool({
        name,
        description: name,
        input: {},
        execute: () => new Promise<string>((resolve) => open.set(name, () => resolve(name))),
      });
    const { agent, model } = make([calls('one', 'two', 'three'), 'Done.'], {
      tools: ['one', 'two', 'three'].map(waiting),
    });
    const called = agent.call('All three.');
    await vi.waitFor(() => expect(open.size).toBe(3));
    for (const name of ['three', 'one', 'two']) open.get(name)?.();
    const { toolsUsed } = await called;
    expect(resultsIn(model.requests[1])).toEqual(['one', 'two', 'three']);
    expect(toolsUsed).toEqual(['one', 'two', 'three']);
  });

  test('show the model the same one after the other as at the same time', async () => {
    const seen = [];
    for (const parallelTools of [1, Infinity]) {
      const { agent, model } = make([calls('look', 'fly', 'send'), 'Done.'], {
        tools: [named('look'), named('send')],
        limits: { parallelTools },
      });
      await agent.call('Go.');
      seen.push(linesOf(model.requests[1]));
    }
    expect(seen[0]).toEqual(seen[1]);
  });

  test('do not depend on each other: one that throws leaves the others alone', async () => {
    const broken = tool({
      name: 'broken',
      description: 'Fails',
      input: {},
      execute: () => {
        throw new Error('No paper.');
      },
    });
    const { agent, model } = make([calls('broken', 'look'), 'Done.'], {
      tools: [broken, named('look')],
    });
    const { toolsUsed } = await agent.call('Print.');
    expect(resultsIn(model.requests[1])).toEqual(['Error: No paper.', 'look done']);
    expect(toolsUsed).toEqual(['broken', 'look']);
  });

  test('skip only the call that a hook rejects, which is not a tool used', async () => {
    const ran: JsonValue[] = [];
    const careful: AgentHook = {
      on: {
        'pre-acting'({ toolUse }, control) {
          if (toolUse.name === 'send') control.reject('Nobody is awake.');
        },
      },
    };
    const { agent, model } = make([calls('send', 'look'), 'Done.'], {
      tools: [named('send', ran), named('look')],
      use: [careful],
    });
    const { toolsUsed } = await agent.call('Send it.');
    expect(ran).toEqual([]);
    const [sent, looked] = resultsIn(model.requests[1]);
    expect(sent).toContain('Nobody is awake.');
    expect(looked).toBe('look done');
    expect(toolsUsed).toEqual(['look']);
  });

  test('reach the tool as the hooks before it left them, by their order', async () => {
    const ran: JsonValue[] = [];
    const add = (priority: number, change: (at: number) => number): AgentHook => ({
      on: {
        'pre-acting': {
          priority,
          handle(event) {
            const { at } = event.toolUse.input as { readonly at: number };
            return { ...event, toolUse: { ...event.toolUse, input: { at: change(at) } } };
          },
        },
      },
    });
    const { agent } = make([{ toolCalls: [{ name: 'look', input: { at: 1 } }] }, 'Done.'], {
      tools: [named('look', ran)],
      use: [add(2, (at) => at * 10), add(1, (at) => at + 1)],
    });
    await agent.call('Look.');
    expect(ran).toEqual([{ at: 20 }]);
  });

  test('show the model and later hooks what a hook after the tool made of the result', async () => {
    const seen: string[] = [];
    const shorten: AgentHook = {
      on: {
        'post-acting': (event) => ({
          ...event,
          result: { ...event.result, output: `${event.toolUse.name}: short` },
        }),
      },
    };
    const note: AgentHook = {
      on: {
        'post-acting': {
          priority: 200,
          handle: ({ result }) => void seen.push(outputText(result.output)),
        },
      },
    };
    const { agent, model } = make([calls('look', 'send'), 'Done.'], {
      tools: [named('look'), named('send')],
      use: [note, shorten],
    });
    await agent.call('Go.');
    expect(seen.toSorted()).toEqual(['look: short', 'send: short']);
    expect(resultsIn(model.requests[1])).toEqual(['look: short', 'send: short']);
  });

  test('of unknown tools tell the model so, and only tools that exist are used', async () => {
    const { agent, model } = make([calls('fly', 'look'), 'Done.'], { tools: [named('look')] });
    const { toolsUsed } = await agent.call('Fly.');
    expect(resultsIn(model.requests[1])[0]).toMatch(/^Error: .*not found.*fly/iu);
    expect(toolsUsed).toEqual(['look']);
  });

  test('give an empty text if the tool returns nothing', async () => {
    const quiet = tool({ name: 'quiet', description: 'Nothing', input: {}, execute() {} });
    const { agent, model } = make([calls('quiet'), 'Done.'], { tools: [quiet] });
    await agent.call('Hush.');
    expect(resultsIn(model.requests[1])).toEqual(['']);
  });

  test('end at the limit of their own tool, not at that of a slower one beside them', async () => {
    useClock();
    const hanging = (name: string, timeoutMs?: number): Tool =>
      tool({
        name,
        description: name,
        input: {},
        ...(timeoutMs && { timeoutMs }),
        execute: () => new Promise(() => {}),
      });
    const { agent, model } = make([calls('slow', 'fast', 'usual'), 'Done.'], {
      tools: [hanging('slow', 20_000), hanging('fast', 50), hanging('usual')],
    });
    const ended: string[] = [];
    agent.addHook({ on: { 'post-acting': ({ toolUse }) => void ended.push(toolUse.name) } });
    const called = agent.call('Wait.');
    await vi.advanceTimersByTimeAsync(14_999);
    expect(ended).toEqual(['fast']);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toEqual(['fast', 'usual']);
    await vi.advanceTimersByTimeAsync(5_000);
    await called;
    expect(resultsIn(model.requests[1]).map((result) => /\d+/u.exec(result)?.[0])).toEqual([
      '20000',
      '50',
      '15000',
    ]);
  });

  test('with arguments that are not JSON do not run and get an error', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make(
      [{ toolCalls: [{ name: 'look', input: '{"at": ' }, { name: 'look' }] }, 'Done.'],
      { tools: [named('look', ran)] },
    );
    await agent.call('Look.');
    expect(ran).toEqual([{}]);
    expect(resultsIn(model.requests[1])[0]).toMatch(/^Error: /u);
  });

  test('meet the hook before the person: a rejected call asks nobody', async () => {
    const asked: string[] = [];
    const ran: JsonValue[] = [];
    const { agent, model } = make([calls('send', 'look', 'pay'), 'Done.'], {
      tools: [named('send', ran), named('look', ran), named('pay', ran)],
      use: [
        {
          on: {
            'pre-acting'({ toolUse }, control) {
              if (toolUse.name === 'send') control.reject('Closed.');
            },
          },
        },
        humanInTheLoop({
          approvalOn: { send: true, pay: true },
          decide({ name }) {
            asked.push(name);
            return { type: 'reject', reason: 'Too dear.' };
          },
        }),
      ],
    });
    const { toolsUsed } = await agent.call('Go.');
    expect(asked).toEqual(['pay']);
    expect(toolsUsed).toEqual(['look']);
    const [sent, , paid] = resultsIn(model.requests[1]);
    expect(sent).toContain('Closed.');
    expect(paid).toContain('Too dear.');
  });

  test('that wait for a person are tools used once a person approves them', async () => {
    const ran: JsonValue[] = [];
    const { agent } = make([calls('pay', 'look'), 'Paid.', 'Hello.'], {
      tools: [named('pay', ran), named('look')],
      use: [humanInTheLoop({ approvalOn: { pay: true } })],
    });
    const asked = await agent.call('Pay.');
    expect([asked.reason, asked.toolsUsed, ran]).toEqual(['suspended', ['look'], []]);
    const { text, toolsUsed } = await agent.call([
      { toolUseId: asked.pending[0]!.toolUseId, type: 'approve' },
    ]);
    expect([text, toolsUsed, ran]).toEqual(['Paid.', ['pay'], [{}]]);
  });

  test('outside the allowed tools of a call are refused and do not run', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([calls('send', 'look'), 'Done.'], {
      tools: [named('send', ran), named('look')],
    });
    const { toolsUsed } = await agent.call('Go.', { allowTools: ['look'] });
    expect(model.requests.map(offeredIn)).toEqual([['look'], ['look']]);
    expect(resultsIn(model.requests[1])[0]).toMatch(/^Error: .*send/u);
    expect(toolsUsed).toEqual(['look']);
    expect(ran).toEqual([]);
  });

  test('are measured if a tool ran or is unknown, not if they were refused', async () => {
    const measured: string[] = [];
    const { agent } = make([calls('look', 'fly', 'send', 'look'), 'Done.'], {
      tools: [named('look'), named('send')],
      limits: { toolCalls: 3 },
      use: [
        metrics({ toolCall: ({ name, outcome }) => void measured.push(`${name} ${outcome}`) }),
        {
          on: {
            'pre-acting'({ toolUse }, control) {
              if (toolUse.name === 'send') control.reject('No.');
            },
          },
        },
      ],
    });
    await agent.call('Go.');
    expect(measured.toSorted()).toEqual(['fly error', 'look success']);
  });
});

describe('trimming', () => {
  test('keeps a request that is exactly as long as the budget', async () => {
    const history = [userMessage(latin(100)), assistantMessage(hangul(100))];
    for (const [prompt, kept] of [
      [50, 3],
      [51, 2],
    ] as const) {
      const { agent, model } = make(['Done.'], {
        memory: new InMemoryMemory(history),
        use: [trimTo(250)],
      });
      await agent.call(latin(prompt));
      expect(linesOf(model.requests[0])).toHaveLength(kept);
    }
  });

  test('counts the system prompt, but neither the tools nor their descriptions', async () => {
    const history = [userMessage(latin(40)), assistantMessage(latin(40))];
    const request = async (options: Options): Promise<ModelRequest | undefined> => {
      const { agent, model } = make(['Done.'], {
        memory: new InMemoryMemory(history),
        use: [trimTo(100)],
        ...options,
      });
      await agent.call(latin(20));
      return model.requests[0];
    };
    const described = await request({ tools: [named('look', [], latin(90))] });
    expect(linesOf(described)).toHaveLength(3);
    const prompted = await request({ systemPrompt: latin(1) });
    expect(linesOf(prompted)).toHaveLength(2);
    expect(systemOf(prompted)).toEqual([latin(1)]);
  });

  test('removes messages before the current prompt from the front, and stops at it', async () => {
    const history = ['one', 'two', 'three'].flatMap((name) => [
      userMessage(`${name} ${latin(24)}`),
      assistantMessage(latin(25)),
    ]);
    const { agent, model } = make(['Done.', 'Done.'], {
      memory: new InMemoryMemory(history),
      use: [trimTo(60)],
    });
    await agent.call(latin(20));
    expect(linesOf(model.requests[0])).toEqual([`assistant: ${latin(25)}`, `user: ${latin(20)}`]);
    await agent.call(latin(70));
    expect(linesOf(model.requests[1])).toEqual([`user: ${latin(70)}`]);
  });

  test('then removes the oldest calls of the turn, each with its result', async () => {
    const big = tool({
      name: 'big',
      description: 'Much',
      input: {},
      execute: (_input, { toolUseId }) => toolUseId + latin(40).slice(toolUseId.length),
    });
    const { agent, model } = make([calls('big'), calls('big'), calls('big'), 'Done.'], {
      tools: [big],
      memory: new InMemoryMemory(turns(2)),
      use: [trimTo(92)],
    });
    await agent.call(latin(10));
    expect(linesOf(model.requests[2])).toEqual([
      `user: ${latin(10)}`,
      'assistant: big()',
      expect.stringMatching(/^tool: call_1/u),
      'assistant: big()',
      expect.stringMatching(/^tool: call_2/u),
    ]);
    expect(linesOf(model.requests[3])).toEqual([
      `user: ${latin(10)}`,
      'assistant: big()',
      expect.stringMatching(/^tool: call_2/u),
      'assistant: big()',
      expect.stringMatching(/^tool: call_3/u),
    ]);
  });

  test('removes even the newest result if it does not fit, and the log keeps it', async () => {
    const big = tool({ name: 'big', description: 'Much', input: {}, execute: () => latin(200) });
    const { agent, model } = make([calls('big'), 'Done.'], { tools: [big], use: [trimTo(100)] });
    const fitted: AgentEvent[] = [];
    agent.addHook({ on: { 'context-fitted': (event) => void fitted.push(event) } });
    await agent.call('Read.');
    expect(linesOf(model.requests[1])).toEqual(['user: Read.']);
    expect((await agent.messages()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ]);
    expect(fitted).toMatchObject([{ removed: 2, before: 202, after: 1 }]);
  });

  test('leaves only the prompt if the system prompt takes the whole budget', async () => {
    const { agent, model } = make([calls('look'), 'Done.'], {
      tools: [named('look')],
      memory: new InMemoryMemory(turns(2)),
      systemPrompt: latin(300),
      use: [trimTo(300)],
    });
    await agent.call(hangul(30));
    for (const request of model.requests) {
      expect(systemOf(request)).toEqual([latin(300)]);
      expect(linesOf(request)).toEqual([`user: ${hangul(30)}`]);
    }
  });

  test('counts names and arguments of calls with the text of their message', async () => {
    // 2 tokens of text, (4 + 36) / 4 of the call, 2 of the result, 1 of the prompt.
    const said = { text: latin(2), toolCalls: [{ name: 'look', input: { at: 'b'.repeat(27) } }] };
    for (const [budget, kept] of [
      [15, 3],
      [14, 1],
    ] as const) {
      const { agent, model } = make([said, 'Done.'], {
        tools: [named('look')],
        use: [trimTo(budget)],
      });
      await agent.call('aaaa');
      expect(linesOf(model.requests[1])).toHaveLength(kept);
    }
  });

  test('removes calls of earlier turns with their results, if a request shows them', async () => {
    const { agent, model } = make([calls('look'), latin(30), 'Done.'], {
      tools: [named('look')],
      use: [{ name: 'answersOnly' }, trimTo(82)],
    });
    await agent.call(latin(50));
    await agent.call(latin(50));
    expect(linesOf(model.requests[2])).toEqual([`assistant: ${latin(30)}`, `user: ${latin(50)}`]);
  });

  test('estimates by the kind of each character', () => {
    const counts = ['', 'a', 'hello world', '안녕하세요', '日本語テキスト', '😀😀', '❤️', '。、'];
    expect(counts.map((text) => estimateTokens(text, arc))).toEqual([0, 1, 2, 3, 5, 2, 2, 1]);
    expect(estimateTokens('Hello 세계 🌍', arc)).toBe(3);
  });
});

describe('retries', () => {
  test('wait 1 s, 2 s, 4 s and so on, up to 10 s, each request anew', async () => {
    const waits: number[] = [];
    const busy = Array.from({ length: 5 }, () => failing('503 Service Unavailable'));
    const { agent } = make([...busy, calls('look'), busy[0]!, 'Done.'], {
      tools: [named('look')],
      use: [withoutWaits(waits, 0.5, 6)],
    });
    expect((await agent.call('Look.')).text).toBe('Done.');
    expect(waits).toEqual([1000, 2000, 4000, 8000, 10_000, 1000]);
  });

  test('vary each wait by a quarter, also the longest one', async () => {
    const spread = [];
    for (const random of [0, 0.75]) {
      const waits: number[] = [];
      const busy = Array.from({ length: 6 }, () => failing('Connection reset'));
      const { agent } = make(busy, { use: [withoutWaits(waits, random, 6)] });
      await agent.call('Hi', returned);
      spread.push([Math.round(waits[0]!), Math.round(waits[4]!)]);
    }
    expect(spread).toEqual([
      [750, 7500],
      [1125, 11_250],
    ]);
  });

  test.each([
    ['429 Too Many Requests', 2],
    ['Rate limit exceeded', 2],
    ['Request timed out', 2],
    ['status code: 500', 2],
    ['Bad gateway', 2],
    ['Connection refused', 2],
    ['401 Unauthorized', 1],
    ['Invalid API key', 1],
    ['context length exceeded', 1],
    ['400 Invalid request', 1],
    ['Something strange', 1],
  ])('follow "%s" with request number %i', async (message, requests) => {
    const { agent, model } = make([failing(message), 'Done.'], { use: [withoutWaits()] });
    await agent.call('Hi', returned);
    expect(model.requests).toHaveLength(requests);
  });

  test('never follow a cancellation that the model reports', async () => {
    const cancelled = new DOMException('The request timed out or was canceled.', 'AbortError');
    const { agent, model } = make([{ error: cancelled }, 'Done.'], { use: [withoutWaits()] });
    await agent.call('Hi', returned);
    expect(model.requests).toHaveLength(1);
  });

  test('end at once if the caller cancels while they wait', async () => {
    useClock();
    const { agent, model } = make([failing('503'), 'Late.']);
    const controller = new AbortController();
    const called = agent.call('Hi', { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(100);
    controller.abort();
    expect((await called).reason).toBe('aborted');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(model.requests).toHaveLength(1);
  });

  test('end at the time limit of the whole call', async () => {
    useClock();
    const { agent, model } = make([failing('503'), failing('503'), 'Late.'], {
      limits: { timeoutMs: 2000 },
      use: [retry({ random: () => 0.5 })],
    });
    const called = agent.call('Hi', returned);
    await vi.advanceTimersByTimeAsync(2000);
    const { error, durationMs } = await called;
    expect([error?.code, durationMs]).toEqual(['CALL_TIMEOUT', 2000]);
    expect(model.requests).toHaveLength(2);
  });

  test('repeat only the request, not the tools before it', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([calls('look'), failing('502'), failing('504'), 'Done.'], {
      tools: [named('look', ran)],
      use: [withoutWaits()],
    });
    expect((await agent.call('Look.')).text).toBe('Done.');
    expect(ran).toHaveLength(1);
    expect(linesOf(model.requests[3])).toEqual(linesOf(model.requests[1]));
  });

  test('reach readers of a stream as one reply, and stop at the first delta', async () => {
    const early = make([failing('503'), 'All good.'], { use: [withoutWaits()] });
    expect(await textsOf(textStream(early.agent.stream('Hi')))).toBe('All good.');
    const late = make([{ text: 'All ', ...failing('503') }, 'All good.'], {
      use: [withoutWaits()],
    });
    const said = textStream(late.agent.stream('Hi'), {
      errors: 'in-band',
      errorText: ({ message }) => `[error] ${message}`,
    });
    expect(await textsOf(said)).toMatch(/^All \s*\[error\] .*503/u);
    expect(late.model.requests).toHaveLength(1);
  });

  test('are one failure for a circuit breaker around them', async () => {
    const breaker = circuitBreaker({ failures: 2 });
    const busy = Array.from({ length: 6 }, () => failing('503'));
    const model = new ScriptedModel(busy);
    const agent = new ReActAgent({
      name: 'assistant',
      model,
      use: [breaker, arcReactor(), withoutWaits()],
    });
    await agent.call('One', returned);
    expect([breaker.state, model.requests.length]).toEqual(['closed', 3]);
    await agent.call('Two', returned);
    expect([breaker.state, model.requests.length]).toEqual(['open', 6]);
    expect((await agent.call('Three', returned)).error?.code).toBe('CIRCUIT_OPEN');
    expect(model.requests).toHaveLength(6);
  });

  test('come before another model is asked', async () => {
    const model = new ScriptedModel([failing('503'), failing('503'), failing('503')]);
    const other = new ScriptedModel(['From the other.']);
    const agent = new ReActAgent({
      name: 'assistant',
      model,
      use: [fallback([other]), arcReactor(), withoutWaits()],
    });
    expect((await agent.call('Hi')).text).toBe('From the other.');
    expect([model.requests.length, other.requests.length]).toEqual([3, 1]);
  });
});

describe('the limit of concurrent calls', () => {
  test('lets the next call wait longer than its own time limit', async () => {
    useClock();
    const preset = arcReactor();
    const agentOf = (userId: string, model: ScriptedModel): ReActAgent =>
      new ReActAgent({ name: 'assistant', model, userId, use: [preset] });
    const stuck = Array.from({ length: 20 }, (_, at) =>
      agentOf(`user ${at}`, new ScriptedModel([{ hang: true }])).call('Hi', returned),
    );
    const model = new ScriptedModel([
      { wait: () => new Promise((resolve) => setTimeout(resolve, 20_000)), text: 'My turn.' },
    ]);
    const last = agentOf('last', model).call('Hi', returned);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(model.requests).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    const codes = (await Promise.all(stuck)).map(({ error }) => error?.code);
    expect(new Set(codes)).toEqual(new Set(['CALL_TIMEOUT']));
    await vi.advanceTimersByTimeAsync(20_000);
    expect((await last).text).toBe('My turn.');
  });

  test('gets its place back after every kind of end', async () => {
    const semaphore = new Semaphore(1);
    const free = async (replies: readonly ScriptedReply[], run: (agent: ReActAgent) => unknown) => {
      const { agent } = make(replies, {
        use: [
          concurrency(semaphore),
          {
            on: {
              'pre-call'({ input }, control) {
                if (textOf(input[0]!) === 'No') control.reject('No.');
              },
            },
          },
        ],
      });
      await run(agent);
      return semaphore.free;
    };
    const ends = [
      await free(['Done.'], (agent) => agent.call('Hi')),
      await free([failing('Strange')], (agent) => agent.call('Hi', returned)),
      await free([], (agent) => agent.call('No')),
      await free([], (agent) => agent.call('Hi', { signal: AbortSignal.abort() })),
      await free(['A long answer.'], async (agent) => {
        for await (const { type } of agent.stream('Hi')) if (type === 'reasoning-chunk') break;
      }),
    ];
    expect(ends).toEqual([1, 1, 1, 1, 1]);
  });

  test('ends the wait of a call that is canceled, without a request', async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    const { agent, model } = make(['Never.'], { use: [concurrency(semaphore)] });
    const controller = new AbortController();
    const called = agent.call('Hi', { signal: controller.signal });
    await vi.waitFor(() => expect(semaphore.waiting).toBe(1));
    controller.abort();
    expect((await called).reason).toBe('aborted');
    release();
    expect([semaphore.free, semaphore.waiting, model.requests.length]).toEqual([1, 0, 0]);
  });
});

describe('failures', () => {
  test.each([
    ['Rate limit exceeded', 'MODEL_RATE_LIMITED'],
    ['Request timeout', 'MODEL_TIMEOUT'],
    ['The maximum context length is 8192 tokens', 'MODEL_CONTEXT_LENGTH'],
    ['Rate limit reached: timeout, context length and tool', 'MODEL_RATE_LIMITED'],
    ['Something strange', 'INTERNAL'],
  ])('with the words "%s" have the code %s, streaming or not', async (message, code) => {
    const replies = [failing(message), failing(message), failing(message)];
    const options = { use: [withoutWaits()] };
    const whole = await make(replies, options).agent.call('Hi', returned);
    const streamed = await make(replies, options).agent.stream('Hi', returned).result;
    expect([whole.error?.code, streamed.error?.code]).toEqual([code, code]);
    expect(whole.reason).toBe('error');
  });

  test('have a message for the user that does not quote them', async () => {
    const said = { messages: { MODEL_RATE_LIMITED: '잠시 후 다시 시도해 주세요.' } };
    const { agent } = make(
      Array.from({ length: 3 }, () => failing('429 for key sk-1')),
      {
        use: [friendlyErrors((error) => errorMessage(error, said)), withoutWaits()],
      },
    );
    expect((await agent.call('Hi', returned)).text).toBe('잠시 후 다시 시도해 주세요.');
  });

  test('reach the hooks at the end of the call, too', async () => {
    const ends: (AgentResult['reason'] | undefined)[] = [];
    const { agent } = make([failing('Strange')], {
      use: [{ on: { 'run-end': ({ result }) => void ends.push(result.reason) } }],
    });
    await expect(agent.call('Hi')).rejects.toThrow('Strange');
    expect(ends).toEqual(['error']);
  });

  test('after tools leave no turn that later requests show', async () => {
    const { agent, model } = make([calls('look'), failing('Strange'), 'Hello.'], {
      tools: [named('look')],
    });
    await agent.call('Look.', returned);
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual(['user: Hi']);
  });

  test('by the time limit abort the running tools and leave no turn', async () => {
    useClock();
    let signal: AbortSignal | undefined;
    const slow = tool({
      name: 'slow',
      description: 'Waits',
      input: {},
      timeoutMs: 60_000,
      execute(_input, context) {
        signal = context.signal;
        return new Promise(() => {});
      },
    });
    const { agent, model } = make([calls('slow'), 'Hello.'], { tools: [slow] });
    const called = agent.call('Wait.', returned);
    await vi.advanceTimersByTimeAsync(30_000);
    expect((await called).error?.code).toBe('CALL_TIMEOUT');
    expect(signal?.aborted).toBe(true);
    await agent.call('Hi');
    expect(linesOf(model.requests[1])).toEqual(['user: Hi']);
  });
});

describe('the history', () => {
  test('has only questions and last texts, in memory and in a session', async () => {
    const store = new MemoryStore();
    const seen = [];
    for (const memory of [undefined, new SessionMemory(store, 's')]) {
      const { agent, model } = make(
        [{ text: 'Let me look.', ...calls('look') }, 'Found it.', failing('Strange'), 'Hello.'],
        { tools: [named('look')], sessionId: 's', ...(memory && { memory }) },
      );
      await eventsOf(agent.stream('Look.'));
      await agent.call('Fail.', returned);
      await agent.call('Hi');
      seen.push(linesOf(model.requests[3]));
    }
    expect(seen[0]).toEqual(['user: Look.', 'assistant: Found it.', 'user: Hi']);
    expect(seen[1]).toEqual(seen[0]);
    const next = make(['Again.'], { sessionId: 's', memory: new SessionMemory(store, 's') });
    await next.agent.call('And now?');
    expect(linesOf(next.model.requests[0])).toEqual([
      'user: Look.',
      'assistant: Found it.',
      'user: Hi',
      'assistant: Hello.',
      'user: And now?',
    ]);
  });

  test('has the last ten turns', async () => {
    const shown = async (count: number): Promise<readonly string[]> => {
      const { agent, model } = make(['Done.'], { memory: new InMemoryMemory(turns(count)) });
      await agent.call('Hi');
      return linesOf(model.requests[0]);
    };
    expect(await shown(10)).toHaveLength(21);
    const eleven = await shown(11);
    expect(eleven).toHaveLength(21);
    expect(eleven[0]).toBe('user: question 2');
  });

  test('has no stream that broke or that its reader left', async () => {
    const { agent, model } = make([
      { text: 'Half an ', ...failing('503') },
      'A whole answer.',
      'Hello.',
    ]);
    const broken = agent.stream('Break.', returned);
    await eventsOf(broken);
    for await (const { type } of agent.stream('Leave.')) if (type === 'reasoning-chunk') break;
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual(['user: Hi']);
  });

  test.each(['pre-call', 'pre-reasoning', 'post-reasoning', 'pre-acting', 'post-acting'] as const)(
    'has no turn that was interrupted at %s',
    async (type) => {
      const { agent, model } = make(
        Array.from(
          { length: 3 },
          () =>
            ({ messages }: ModelRequest) =>
              textOf(messages.at(-1)!) === 'Look.' ? calls('look') : 'Hello.',
        ),
        { tools: [named('look')] },
      );
      const remove = agent.addHook({
        on: {
          [type]: (_event: AgentEvent, _control: unknown, context: { interrupt(): boolean }) =>
            void context.interrupt(),
        },
      });
      expect((await agent.call('Look.')).reason).toBe('interrupted');
      remove();
      await agent.call('Hi');
      expect(linesOf(model.requests.at(-1))).toEqual(['user: Hi']);
    },
  );

  test('has no answer that a guard refused', async () => {
    const { agent, model } = make(['The code is 1234.', 'Hello.'], {
      use: [outputGuards([regexRule({ pattern: /\d{4}/u, action: 'reject' })])],
    });
    expect((await agent.call('The code?')).reason).toBe('rejected');
    await agent.call('Hi');
    expect(linesOf(model.requests[1])).toEqual(['user: Hi']);
  });

  test('streams every text of the turn, and has only the last one', async () => {
    const { agent, model } = make(
      [{ text: 'Let me look.', ...calls('look') }, 'Found it.', 'Hello.'],
      { tools: [named('look')] },
    );
    const said = await textsOf(textStream(agent.stream('Look.')));
    expect(said).toBe('Let me look.\n\nFound it.');
    await agent.call('Hi');
    expect(linesOf(model.requests[2])[1]).toBe('assistant: Found it.');
  });
});

describe('the stages of a call', () => {
  const spies = (log: string[], ...stages: readonly InputStage[]): Middleware[] => [
    inputGuards([{ name: 'spy', check: (input) => (log.push('guard'), input) }, ...stages]),
    { on: { 'run-end': () => void log.push('end'), 'pre-call': () => void log.push('hook') } },
    retrieval({
      retriever: {
        async retrieve(query) {
          log.push(`retrieval of ${query}`);
          return [];
        },
      },
    }),
    selectTools({
      by(question) {
        log.push(`selection for ${question}`);
        return ['look'];
      },
    }),
  ];

  test('run in the order of the document, streaming or not', async () => {
    for (const streaming of [false, true]) {
      const log: string[] = [];
      const { agent } = make([() => (log.push('request'), 'Done.')], {
        tools: [named('look')],
        use: spies(log),
      });
      await (streaming ? agent.stream('Tea?').result : agent.call('Tea?'));
      expect(log).toEqual([
        'guard',
        'hook',
        'selection for Tea?',
        'retrieval of Tea?',
        'request',
        'end',
      ]);
    }
  });

  test('stop at a guard: no hook before the start, no search, no request', async () => {
    const log: string[] = [];
    const { agent, model } = make([], {
      use: spies(log, { name: 'shut', check: () => ({ category: 'OFF_TOPIC' }) }),
    });
    const { reason, error } = await agent.call('Tea?');
    expect([reason, error?.code]).toEqual(['rejected', 'GUARD_REJECTED']);
    expect(log).toEqual(['guard', 'end']);
    expect(model.requests).toEqual([]);
  });

  test('stop at a hook before the start, and the next call works', async () => {
    const log: string[] = [];
    const { agent, model } = make(['Hello.'], {
      use: [
        ...spies(log),
        {
          on: {
            'pre-call'({ input }, control) {
              if (textOf(input[0]!) === 'Tea?') control.reject('No tea today.');
            },
          },
        },
      ],
    });
    const { reason, error, text } = await agent.call('Tea?');
    expect([reason, error?.code, text]).toEqual(['rejected', 'HOOK_REJECTED', 'No tea today.']);
    expect(log).toEqual(['guard', 'hook', 'end']);
    log.length = 0;
    await agent.call('Hi');
    expect(linesOf(model.requests[0])).toEqual(['user: Hi']);
  });

  test('give every later stage the input that a guard and a hook have changed', async () => {
    const log: string[] = [];
    const { agent, model } = make(['Done.', 'Done.'], {
      tools: [named('look')],
      use: [
        ...spies(log, maskPii()),
        {
          on: {
            'pre-call': (event) => ({
              ...event,
              input: event.input.map((message) =>
                userMessage(`${textOf(message)} Please.`, { id: message.id }),
              ),
            }),
          },
        },
      ],
    });
    await agent.call('Write to ann@example.com.');
    await agent.call('Again.');
    const changed = 'Write to [EMAIL]. Please.';
    expect(log).toContain(`retrieval of ${changed}`);
    expect(log).toContain(`selection for ${changed}`);
    expect(linesOf(model.requests[1])).toEqual([
      `user: ${changed}`,
      'assistant: Done.',
      'user: Again. Please.',
    ]);
  });

  test('continue after hooks that fail before the start, before and after a tool', async () => {
    const fail = (): never => {
      throw new Error('The hook is broken.');
    };
    const { agent, model } = make([calls('look'), 'Done.'], {
      tools: [named('look')],
      use: [{ on: { 'pre-call': fail, 'pre-acting': fail, 'post-acting': fail, 'run-end': fail } }],
    });
    expect((await agent.call('Look.')).text).toBe('Done.');
    expect(resultsIn(model.requests[1])).toEqual(['look done']);
  });

  test('end before the request if a hook before the start must not fail', async () => {
    const { agent, model } = make(['Hello.'], {});
    const remove = agent.addHook({
      onError: 'fail',
      on: {
        'pre-call'() {
          throw new Error('No budget.');
        },
      },
    });
    const { error } = await agent.call('Look.', returned);
    expect([error?.code, model.requests.length]).toEqual(['HOOK_ERROR', 0]);
    remove();
    await agent.call('Hi');
    expect(linesOf(model.requests[0])).toEqual(['user: Hi']);
  });

  test('all count toward the time limit', async () => {
    useClock();
    const { agent, model } = make([], {
      use: [{ on: { 'pre-call': () => new Promise(() => {}) } }],
    });
    const called = agent.call('Hi', returned);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(agent.busy).toBe(true);
    // The hook gets one turn of the event loop to end.
    await vi.advanceTimersByTimeAsync(2);
    expect((await called).error?.code).toBe('CALL_TIMEOUT');
    expect(model.requests).toEqual([]);
  });

  test('limit the calls of a user over all agents of a preset, in windows of a minute', async () => {
    useClock();
    const use = [arcReactor()];
    const ask = async (userId?: string): Promise<string | undefined> => {
      const model = new ScriptedModel(['Done.']);
      const agent = new ReActAgent({ name: 'assistant', model, ...(userId && { userId }), use });
      return (await agent.stream('Hi', returned).result).error?.code;
    };
    for (let at = 0; at < 10; at += 1) expect(await ask()).toBeUndefined();
    expect(await ask()).toBe('GUARD_REJECTED');
    expect(await ask('bob')).toBeUndefined();
    await vi.advanceTimersByTimeAsync(59_999);
    expect(await ask()).toBe('GUARD_REJECTED');
    await vi.advanceTimersByTimeAsync(1);
    expect(await ask()).toBeUndefined();
  });

  test.each([
    ['가'.repeat(5000), undefined],
    [` \n${'가'.repeat(5000)}\n `, undefined],
    ['가'.repeat(5001), 'INVALID_INPUT'],
  ])('limit the length of an input: %#', async (input, category) => {
    const { agent } = make(['Done.']);
    const { error } = await agent.call(input, returned);
    expect(error?.details?.['category']).toBe(category);
  });
});

describe('the system prompt', () => {
  const documents = retrieval({
    retriever: {
      retrieve: async () => [
        { id: 'close', content: 'Tea is a plant.', score: 0.7 },
        { id: 'far', content: 'Coffee is a bean.', score: 0.69 },
      ],
    },
  });

  test('is one message: prompt, documents, format, in every request of the call', async () => {
    const { agent, model } = make([calls('look'), '{"plant": true}'], {
      systemPrompt: 'You know plants.',
      tools: [named('look')],
      use: [documents],
    });
    const { output } = await agent.call('Tea?', { output: jsonMode() });
    expect(output).toEqual({ plant: true });
    for (const request of model.requests) {
      const [prompt, ...more] = systemOf(request);
      expect(more).toEqual([]);
      expect(prompt).toMatch(/^You know plants\.\n\n[^]*Tea is a plant\.[^]*\n\n[^]*JSON/u);
      expect(prompt).not.toContain('Coffee');
    }
  });

  test('has only the parts that there are', async () => {
    const bare = make(['Done.'], { systemPrompt: 'You know plants.' });
    await bare.agent.call('Tea?');
    expect(systemOf(bare.model.requests[0])).toEqual(['You know plants.']);
    const found = make(['Done.'], { use: [documents] });
    await found.agent.call('Tea?');
    expect(systemOf(found.model.requests[0])).toEqual([expect.stringContaining('Tea is a plant.')]);
  });

  test('has no documents if the search fails, and the call continues', async () => {
    const errors: AgentError[] = [];
    const { agent, model } = make(['Done.'], {
      systemPrompt: 'You know plants.',
      use: [
        retrieval({
          retriever: { retrieve: () => Promise.reject(new Error('No index.')) },
          onError: (error) => errors.push(error),
        }),
      ],
    });
    expect((await agent.call('Tea?')).text).toBe('Done.');
    expect(errors).toHaveLength(1);
    expect(systemOf(model.requests[0])).toEqual(['You know plants.']);
  });

  test('takes its documents from the budget of the history', async () => {
    const history = [userMessage(latin(30)), assistantMessage(latin(30))];
    const shown = async (use: readonly Middleware[]): Promise<number> => {
      const { agent, model } = make(['Done.'], {
        memory: new InMemoryMemory(history),
        use: [...use, trimTo(70)],
      });
      await agent.call(latin(10));
      return linesOf(model.requests[0]).length;
    };
    expect([await shown([]), await shown([documents])]).toEqual([3, 1]);
  });
});

describe('an answer in JSON', () => {
  test('may be repaired once, and the next turn sees the repaired one', async () => {
    const { agent, model } = make(['Sure!', '```json\n{"a": 1}\n```', 'Hello.']);
    const { output, text } = await agent.call('JSON?', { output: jsonMode() });
    expect(output).toEqual({ a: 1 });
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual(['user: JSON?', `assistant: ${text}`, 'user: Hi']);
  });

  test('fails the call if the repair is invalid too, and leaves no turn', async () => {
    const { agent, model } = make(['Sure!', 'Sorry!', 'Hello.']);
    const { error } = await agent.call('JSON?', { output: jsonMode(), ...returned });
    expect([error?.code, model.requests.length]).toEqual(['OUTPUT_INVALID', 2]);
    await agent.call('Hi');
    expect(linesOf(model.requests[2])).toEqual(['user: Hi']);
  });

  test('still comes after the last tool call, and may then be repaired without tools', async () => {
    const { agent, model } = make([calls('look'), 'It is one.', '{"a": 1}'], {
      tools: [named('look')],
      limits: { toolCalls: 1 },
    });
    const { output } = await agent.stream('Look.', { output: jsonMode() }).result;
    expect(output).toEqual({ a: 1 });
    expect(model.requests.map(offeredIn)).toEqual([['look'], [], []]);
  });
});

describe('the tools of a request', () => {
  const mail = byKeyword([{ keywords: ['메일'], tools: ['send_*'] }]);

  test('are the local ones, then those that fit the prompt, up to the limit', async () => {
    const { agent, model } = make([calls('clock'), 'Done.'], {
      tools: ['plan', 'send_mail', 'send_fax', 'clock'].map((name) => named(name)),
      use: [selectTools({ by: mail, local: ['clock'], maxTools: 3 })],
    });
    await agent.call('안나에게 메일을 보내 줘');
    const offered = offeredIn(model.requests[0]);
    expect(offered[0]).toBe('clock');
    expect(offered).toHaveLength(3);
    expect(offeredIn(model.requests[1])).toEqual(offered);
  });

  test('that the selection left out do not run if the model calls them', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([calls('delete_all'), 'Done.'], {
      tools: [named('send_mail'), named('delete_all', ran)],
      use: [selectTools({ by: () => ['send_mail'] })],
    });
    const { toolsUsed } = await agent.call('Mail');
    expect([ran, toolsUsed]).toEqual([[], []]);
    expect(resultsIn(model.requests[1])[0]).toMatch(/^Error: .*delete_all/u);
  });

  test('are all of them if the selection fails', async () => {
    const errors: string[] = [];
    const { agent, model } = make(['Done.'], {
      tools: [named('send_mail'), named('plan')],
      use: [
        selectTools({
          by() {
            throw new Error('No vectors.');
          },
          onError: ({ message }) => errors.push(message),
        }),
      ],
    });
    await agent.call('Mail');
    expect(offeredIn(model.requests[0])).toEqual(['send_mail', 'plan']);
    expect(errors).toHaveLength(1);
  });

  test('are none if the call allows none; calls in the reply are then dropped', async () => {
    const ran: JsonValue[] = [];
    const { agent, model } = make([{ text: 'Just text.', ...calls('look') }, 'Hello.'], {
      tools: [named('look', ran)],
    });
    const { text, toolsUsed } = await agent.call('Look.', { allowTools: [] });
    expect([text, toolsUsed, ran]).toEqual(['Just text.', [], []]);
    await agent.call('Hi');
    expect(linesOf(model.requests[1])[1]).toBe('assistant: Just text.');
  });
});

describe('streaming', () => {
  test('gives the same result and the same requests as not streaming', async () => {
    const replies = [
      { text: '보자.', ...calls('look', 'fly') },
      failing('503'),
      calls('look'),
      { text: '끝났다.', ...calls('look') },
    ];
    const options = { tools: [named('look')], limits: { toolCalls: 3 }, now: () => 0 };
    const whole = make(replies, { ...options, use: [withoutWaits()] });
    const parts = make(replies, { ...options, use: [withoutWaits()] });
    const one = await whole.agent.call('봐.');
    const two = await parts.agent.stream('봐.').result;
    const plain = ({ text, reason, usage, toolsUsed, iterations }: AgentResult) => ({
      text,
      reason,
      usage,
      toolsUsed,
      iterations,
    });
    expect(plain(two)).toEqual(plain(one));
    expect(parts.model.requests.map(linesOf)).toEqual(whole.model.requests.map(linesOf));
  });

  test('reads stored replies as it reads others, only for a temperature of 0', async () => {
    const { agent, model } = make(['One.', 'Two.', 'Three.'], {
      use: [
        responseCache(),
        { name: 'successfulTurns' },
        { name: 'lastTurns' },
        {
          fit: ({ messages }) => ({
            messages: messages.slice(-1),
            removed: 0,
            before: 0,
            after: 0,
          }),
        },
      ],
    });
    const ask = async (temperature?: number): Promise<string> =>
      textsOf(textStream(agent.stream('Hi', temperature === undefined ? {} : { temperature })));
    expect([await ask(), await ask()]).toEqual(['One.', 'Two.']);
    expect([await ask(0), await ask(0)]).toEqual(['Three.', 'Three.']);
    expect(model.requests).toHaveLength(3);
  });

  test('ends a call that is canceled while tools run, and aborts all of them', async () => {
    const signals: AbortSignal[] = [];
    const slow = tool({
      name: 'slow',
      description: 'Waits',
      input: {},
      execute(_input, { signal }) {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    const { agent, model } = make([calls('slow', 'slow'), 'Hello.'], { tools: [slow] });
    const controller = new AbortController();
    const stream = agent.stream('Wait.', { signal: controller.signal });
    const read = eventsOf(stream);
    await vi.waitFor(() => expect(signals).toHaveLength(2));
    controller.abort();
    const ended = (await read).at(-1);
    expect(ended).toMatchObject({ type: 'run-end', result: { reason: 'aborted' } });
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    await agent.call('Hi');
    expect(linesOf(model.requests[1])).toEqual(['user: Hi']);
  });
});

describe('what remains different', () => {
  const throwing = (): never => {
    throw new Error('No budget.');
  };

  test('a tool is used once, however often it is called', async () => {
    const { agent } = make([calls('look', 'send', 'look'), calls('send'), 'Done.'], {
      tools: [named('look'), named('send')],
    });
    expect((await agent.call('Go.')).toolsUsed).toEqual(['look', 'send']);
  });

  test('a result that is not a text becomes JSON, and a text that says "Error" is a success', async () => {
    const giving = (name: string, value: unknown): Tool =>
      tool({ name, description: name, input: {}, execute: () => value as JsonValue });
    const states: string[] = [];
    const { agent, model } = make([calls('none', 'list', 'text', 'error'), 'Done.'], {
      tools: [
        giving('none', null),
        giving('list', [1]),
        giving('text', 'Error: bad'),
        giving('error', new Error('bad')),
      ],
      use: [{ on: { 'post-acting': ({ result }) => void states.push(result.state) } }],
    });
    await agent.call('Go.');
    expect(resultsIn(model.requests[1])).toEqual(['null', '[1]', 'Error: bad', 'Error: bad']);
    expect(states).toEqual(['success', 'success', 'success', 'error']);
  });

  test('hooks after a tool see refused calls, too', async () => {
    const seen: string[] = [];
    const { agent } = make([calls('send', 'fly', 'look', 'look'), 'Done.'], {
      tools: [named('look'), named('send')],
      limits: { toolCalls: 3 },
      use: [
        {
          on: {
            'pre-acting'({ toolUse }, control) {
              if (toolUse.name === 'send') control.reject('No.');
            },
            'post-acting': ({ toolUse, result }) =>
              void seen.push(`${toolUse.name} ${result.state}`),
          },
        },
      ],
    });
    await agent.call('Go.');
    expect(seen.toSorted()).toEqual(['fly error', 'look error', 'look success', 'send denied']);
  });

  test('a blank input fails before the guards', async () => {
    const checked: string[] = [];
    const { agent } = make([], {
      use: [inputGuards([{ name: 'spy', check: (input) => (checked.push('input'), input) }])],
    });
    const { reason, error } = await agent.call(' \n\t', returned);
    expect([reason, error?.code, checked]).toEqual(['error', 'INVALID_INPUT', []]);
  });

  test('a hook before a tool that must not fail fails the call, and the next call works', async () => {
    const { agent, model } = make([calls('look'), 'Hello.'], { tools: [named('look')] });
    const remove = agent.addHook({ onError: 'fail', on: { 'pre-acting': throwing } });
    expect((await agent.call('Look.', returned)).error?.code).toBe('HOOK_ERROR');
    remove();
    await agent.call('Hi');
    expect(linesOf(model.requests[1])).toEqual(['user: Hi']);
  });

  test('refused requests do not open a circuit breaker', async () => {
    const breaker = circuitBreaker({ failures: 1 });
    const refused = Object.assign(new Error('Invalid request'), { status: 400 });
    const model = new ScriptedModel([{ error: refused }, 'Done.']);
    const agent = new ReActAgent({ name: 'assistant', model, use: [breaker, arcReactor()] });
    await agent.call('Hi', returned);
    expect(breaker.state).toBe('closed');
  });

  test('other models get the history and the tools, and the last error counts', async () => {
    const model = new ScriptedModel(['Hello.', failing('401 Unauthorized'), failing('401')]);
    const other = new ScriptedModel(['Hello again.', failing('Something strange')]);
    const agent = new ReActAgent({
      name: 'assistant',
      model,
      tools: [named('look')],
      use: [fallback([other]), arcReactor()],
    });
    await agent.call('Hi');
    await agent.call('And now?');
    expect(linesOf(other.requests[0])).toEqual(['user: Hi', 'assistant: Hello.', 'user: And now?']);
    expect(offeredIn(other.requests[0])).toEqual(['look']);
    expect((await agent.call('And now?', returned)).error?.message).toContain('strange');
  });

  test('a server says how long a retry waits', async () => {
    const asking = (retryAfterMs: number): ScriptedStep => ({
      error: new AgentError('MODEL_RATE_LIMITED', 'Busy.', {
        retryable: true,
        details: { retryAfterMs },
      }),
    });
    const waits: number[] = [];
    const use = [withoutWaits(waits)];
    await make([asking(3000), 'Done.'], { use }).agent.call('Hi');
    const { agent, model } = make([asking(60_001), 'Done.'], { use });
    expect((await agent.call('Hi', returned)).error?.code).toBe('MODEL_RATE_LIMITED');
    expect([waits, model.requests.length]).toEqual([[3000], 1]);
  });

  test('options of a command that belong to the agent are refused in a call', async () => {
    const { agent } = make([]);
    for (const name of ['systemPrompt', 'userId', 'sessionId'])
      await expect(agent.call('Hi', { [name]: 'x' })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('Set it on the agent'),
      });
  });

  test('a rejected answer has its category, as every rejection', async () => {
    const categoryOf = async (rule: OutputRule): Promise<unknown> => {
      const { agent } = make(['The code is 1234.'], { use: [outputGuards([rule])] });
      const { reason, error } = await agent.call('The code?');
      return [reason, error?.code, error?.details?.['category']];
    };
    expect(await categoryOf(regexRule({ pattern: /\d{4}/u, action: 'reject' }))).toEqual([
      'rejected',
      'GUARD_REJECTED',
      'OUTPUT_REJECTED',
    ]);
    expect(await categoryOf(outputLength({ min: 100, mode: 'fail' }))).toEqual([
      'rejected',
      'GUARD_REJECTED',
      'OUTPUT_TOO_SHORT',
    ]);
  });

  test('a hook may replace the answer as a response filter does, and its failure changes nothing', async () => {
    const { agent } = make(['A long answer.'], {
      use: [
        { on: { 'post-call': throwing } },
        {
          on: {
            'post-call': (event) => ({
              ...event,
              message: { ...event.message, content: [{ type: 'text', text: 'Short.' }] },
            }),
          },
        },
      ],
    });
    expect((await agent.call('Hi')).text).toBe('Short.');
    expect((await agent.messages()).map(textOf)).toEqual(['Hi', 'Short.']);
  });
});
