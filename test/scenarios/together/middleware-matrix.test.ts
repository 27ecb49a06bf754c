import { expect, test } from 'vitest';
import * as z from 'zod';
import { seeds } from '../../test-extent.ts';
import { clearToolResults, summarizeHistory } from '@isoloop/core/context';
import {
  AgentError,
  type AgentEvent,
  MemoryStore,
  textOf,
  toolResultsOf,
  userMessage,
  tool,
  type Tool,
  type ToolOptions,
  type Middleware,
  type AgentInput,
  type JsonObject,
  ReActAgent,
  type AgentOptions,
} from '@isoloop/core';
import { piiGuard } from '@isoloop/guards';
import {
  circuitBreaker,
  modelTimeout,
  replyCache,
  retry,
  toolRetry,
} from '@isoloop/core/resilience';
import { jsonlTrace, metrics } from '@isoloop/core/observe';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { randomOf } from '../../random-of.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { byModel, selectTools, toolSearch } from '@isoloop/core/selection';
import { concurrencyLimit, Semaphore } from '@isoloop/core/limits';
import { approvals, closeOpenCalls } from '@isoloop/core/approval';
import {
  evictLargeResults,
  todoList,
  todosOf,
  emulateTools,
  reuseResults,
  rewordToolErrors,
} from '@isoloop/core/results';
import { handOff, operator, operatorMessage } from '@isoloop/core/several';
import { structured } from '@isoloop/core/output';
import { promptVariables } from '@isoloop/core/prompt';
import { allowTools } from '@isoloop/core/tool';

const mail = 'ann@example.test';
const busy = new AgentError('MODEL_SERVER', 'busy', { retryable: true });
const sleep = async (): Promise<void> => {};
const input = { type: 'object' } as const;
const own = (
  name: string,
  execute: ToolOptions<typeof input>['execute'],
  more: Partial<ToolOptions<typeof input>> = {},
): Tool =>
  tool({
    name,
    description: `Helps with the work: ${name}`,
    input,
    ...(execute && { execute }),
    ...more,
  });

/** Replies to the requests that choose tools, summarize or emulate a tool. */
const helpful: ScriptedReply = ({ messages }) => {
  const [system, user] = messages.map(textOf);
  if (!system!.includes('"tools"'))
    return system!.includes('stand in') ? `A guess of ${mail}` : 'What was said.';
  return JSON.stringify({
    tools: [...user!.matchAll(/"name":"((?!decoy)\w+)"/g)].map(([, name]) => name),
  });
};

const work: readonly ScriptedReply[] = [
  { text: 'Let me see', error: busy },
  {
    text: 'I search.',
    toolCalls: [{ name: 'retrieve_tools', id: 'search', input: { query: 'work' } }],
  },
  {
    text: `I do all at once, for ${mail}.`,
    toolCalls: [
      {
        name: 'write_todos',
        id: 'todos',
        input: { todos: [{ content: 'work', status: 'in_progress' }] },
      },
      { name: 'fails', id: 'fails' },
      { name: 'report', id: 'report' },
      { name: 'guess', id: 'guess' },
      { name: 'flaky', id: 'flaky' },
    ],
  },
  {
    toolCalls: [
      { name: 'read_result', id: 'read', input: { id: 'report', query: 'line 7 ' } },
      { name: 'pay', id: 'pay' },
    ],
  },
];

/** What differs in the agent of one test. */
interface Variant extends Partial<AgentOptions> {
  /** Returns the middleware of the agent. Default: one of each kind. */
  readonly parts?: (each: readonly Middleware[]) => readonly Middleware[];
}

/** Creates an agent with one middleware of each kind, in an order that the seed determines. */
function setUp(
  seed: number,
  replies: readonly ScriptedReply[],
  tools: readonly Tool[],
  { parts = (each) => each, ...options }: Variant = {},
) {
  const small = new ScriptedModel(Array.from({ length: 99 }, () => helpful));
  const model = new ScriptedModel(replies);
  const all = parts([
    rewordToolErrors({
      format: (error) => `It failed: ${error instanceof Error ? error.message : ''}`,
    }),
    toolRetry({ sleep }),
    emulateTools({ model: small, tools: ['guess'] }),
    todoList(),
    toolSearch({ limit: 10 }),
    selectTools({
      by: byModel({
        model: small,
        maxTools: 7,
        alwaysOffer: ['retrieve_tools', 'read_result', 'write_todos'],
      }),
      alwaysOffer: [],
    }),
    evictLargeResults({ store: new MemoryStore(), maxTokens: 200, headLines: 3 }),
    closeOpenCalls(),
    approvals({ needsApproval: { pay: 'Moves money.' } }),
    piiGuard({ output: true, toolResults: true }),
    retry({ sleep, afterFirstDelta: true }),
    circuitBreaker(),
    replyCache({ maxTemperature: Infinity }),
    modelTimeout({ silenceMs: 60_000 }),
    metrics({}),
    jsonlTrace(new WritableStream<Uint8Array>()),
    concurrencyLimit(new Semaphore(1)),
  ]);
  const random = randomOf(seed);
  const order = new Map(all.map((extension) => [extension, random()]));
  const extensions = seed ? all.toSorted((a, b) => order.get(a)! - order.get(b)!) : all;
  const policies = [
    clearToolResults({ maxTokens: 300, keep: 2, clearToolInputs: true }),
    summarizeHistory({ maxTokens: 3_000, keep: 4, model: small }),
  ];
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools,
    use: [...policies, ...extensions],
    sessionId: 's',
    ...options,
  });
  const run = async (words: string, signal?: AbortSignal): Promise<readonly AgentEvent[]> => {
    const events: AgentEvent[] = [];
    for await (const event of agent.stream(words, signal ? { signal } : {})) events.push(event);
    expect(orderFaults(events)).toEqual([]);
    for (const request of model.requests) expect(requestFaults(request.messages)).toEqual([]);
    return events;
  };
  return { agent, model, run };
}

function workTools(): readonly Tool[] {
  let tries = 0;
  return [
    own('fails', () => {
      throw new Error(`no paper, ask ${mail}`);
    }),
    own('report', () =>
      Array.from({ length: 400 }, (_, n) => `line ${n + 1} by ${mail}`).join('\n'),
    ),
    own('guess', () => 'the real one'),
    own('flaky', () => {
      tries += 1;
      if (tries < 3) throw new AgentError('INTERNAL', 'busy', { retryable: true });
      return 'fine at last';
    }),
    own('pay', () => 'paid'),
    ...Array.from({ length: 5 }, (_, n) => own(`decoy_${n}`, () => 'no')),
  ];
}

const orders = seeds({ quick: 8, full: 24 });

test.each(orders)(
  'all middleware together behaves like each middleware alone, in any order (%i)',
  async (seed) => {
    const { agent, model, run } = setUp(seed, [...work, `Ask ${mail}, then. Done.`], workTools());
    const first = await run(`I am ${mail}`);
    expect(first.at(-1)).toMatchObject({
      result: { reason: 'suspended', pending: [{ name: 'pay' }] },
    });
    const second = await run('Never mind the bill.');
    expect(second.at(-1)).toMatchObject({
      result: { reason: 'stop', text: 'Ask [EMAIL], then. Done.' },
    });
    model.assertDone();
    expect(model.requests[2]!.tools.some(({ name }) => name.startsWith('decoy'))).toBe(false);

    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    expect(
      Object.fromEntries(
        messages
          .flatMap(toolResultsOf)
          .map(({ toolUseId, state, output }) => [toolUseId, `${state}: ${String(output)}`]),
      ),
    ).toEqual({
      search: expect.stringContaining('"name":"report"'),
      todos: expect.stringContaining('success: {"todos":'),
      fails: 'error: It failed: no paper, ask [EMAIL]',
      report: expect.stringMatching(
        /^success: line 1 by \[EMAIL\]\nline 2 by \[EMAIL\]\nline 3 by \[EMAIL\]\n\[This result .* 400 lines/,
      ),
      guess: 'success: A guess of [EMAIL]',
      flaky: 'success: fine at last',
      read: 'success: 7: line 7 by [EMAIL]\n[1 of 400 lines contain it. No more after these.]',
      pay: 'interrupted: The call of "pay" was canceled: another message came in before it had ended. It did not run.',
    });
    expect(todosOf(messages)).toEqual([{ content: 'work', status: 'in_progress' }]);
    expect(JSON.stringify([first, second, messages])).not.toContain(mail);
  },
);

/** Middleware for a team of two agents and the people who work with them. */
function teamParts(each: readonly Middleware[], deferRound: boolean): readonly Middleware[] {
  // The first three choose tools. The others have their own test, or another order.
  const others = ['toolSearch', 'selectTools', 'emulateTools', 'approvals', 'closeOpenCalls'];
  const names = ['pay', 'refund', 'look', 'transfer_to_billing', 'write_todos', 'read_result'];
  const billing = {
    name: 'billing',
    description: 'Refunds.',
    systemPrompt: 'Bill ${name}.',
    tools: [own('refund', () => `paid back to ${mail}`), own('look', () => 'an invoice')],
  };
  return [
    ...each.filter(({ name = '' }) => !others.includes(name)),
    approvals({
      needsApproval: { pay: 'Moves money.', refund: 'Moves money back.' },
      deferRound,
    }),
    reuseResults(),
    promptVariables({ variables: { name: 'Ann ${name}' } }),
    handOff({ to: [billing] }),
    operator(),
    {
      name: 'hideTools',
      wrapRequest: (draft, next, run) => {
        run.tools.set(allowTools(run.tools.current, names));
        return next({ ...draft, tools: run.tools.schemas });
      },
    },
  ];
}

test.each(orders)(
  'a team with approvals, an operator, prompt variables and a typed answer works in any order (%i)',
  async (seed) => {
    const give = (value: JsonObject): ScriptedReply => ({
      toolCalls: [{ name: 'generate_response', input: value }],
    });
    const replies = [
      { text: 'Let me see', error: busy },
      {
        toolCalls: [
          { name: 'transfer_to_billing', id: 'transfer' },
          { name: 'pay', id: 'pay' },
          { name: 'look', id: 'look' },
        ],
      },
      {
        toolCalls: [
          { name: 'refund', id: 'refund' },
          { name: 'look', id: 'look-again' },
        ],
      },
      give({ total: 'five' }),
      give({ total: 5, to: mail }),
    ];
    const tools = [...workTools(), own('look', () => 'a visitor')];
    const { agent, model } = setUp(seed, replies, tools, {
      name: 'reception',
      // The first reply has as many.
      limits: { toolCalls: 3 },
      systemPrompt: 'Greet ${name}.',
      // The orders of odd numbers defer rounds.
      parts: (each) => teamParts(each, seed % 2 === 1),
    });
    const output = structured(z.object({ total: z.number(), to: z.string() }));
    const send = async (content: AgentInput) => agent.call(content, { output });
    const approve = async (toolUseId: string) => send([{ toolUseId, type: 'approve' }]);

    expect(await send(`I am ${mail}`)).toMatchObject({ pending: [{ name: 'pay' }] });
    const join = operatorMessage('I check this.', { name: 'Bo', action: 'join' });
    expect(await send(join)).toMatchObject({ pending: [{ name: 'pay' }] });
    expect(await approve('pay')).toMatchObject({ reason: 'suspended', pending: [] });
    expect(await send('And the refund?')).toMatchObject({ reason: 'suspended', pending: [] });
    expect(model.requests).toHaveLength(2);
    const leave = operatorMessage('Bye.', { name: 'Bo', action: 'leave' });
    expect(await send(leave)).toMatchObject({
      pending: [{ name: 'refund', reason: 'Moves money back.' }],
    });
    expect(await approve('refund')).toMatchObject({
      reason: 'stop',
      output: { total: 5, to: '[EMAIL]' },
      message: { name: 'billing' },
    });
    model.assertDone();

    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    for (const request of model.requests) expect(requestFaults(request.messages)).toEqual([]);
    expect(model.requests.map((request) => textOf(request.messages[0]!).split('\n')[0])).toEqual([
      'Greet Ann ${name}.',
      'Greet Ann ${name}.',
      'Bill Ann ${name}.',
      'Bill Ann ${name}.',
      'Bill Ann ${name}.',
    ]);
    const results = messages.flatMap(toolResultsOf);
    expect(results.map(({ toolUseId, output: text }) => [toolUseId, text])).toEqual([
      ['transfer', expect.stringContaining('billing')],
      ['pay', 'paid'],
      ['look', 'a visitor'],
      ['refund', 'paid back to [EMAIL]'],
      ['look-again', 'an invoice'],
    ]);
    expect(JSON.stringify(messages)).not.toContain(mail);
  },
);

test.each(orders)(
  'an abort during parallel tool calls leaves a valid log and an agent that works (%i)',
  async (seed) => {
    const controller = new AbortController();
    const tools = workTools().map((one) =>
      one.name === 'flaky'
        ? own('flaky', () => (controller.abort(), new Promise<never>(() => {})))
        : one,
    );
    const { agent, run } = setUp(seed, [...work.slice(0, 3), 'Well then.'], tools);
    const events = await run('Work', controller.signal);
    expect(events.at(-1)).toMatchObject({ result: { reason: 'aborted' } });
    expect(historyFaults(await agent.messages())).toEqual([]);
    expect((await run('Go on')).at(-1)).toMatchObject({
      result: { reason: 'stop', text: 'Well then.' },
    });
    expect(historyFaults(await agent.messages())).toEqual([]);
  },
);

test.each(orders)(
  'refused input over a pending call changes nothing in the log, in any order (%i)',
  async (seed) => {
    const controller = new AbortController();
    const refuse: Middleware = {
      name: 'refuse',
      wrapSettle: async (settled, next, run) => {
        const words = settled.messages.map(textOf).join();
        if (words === 'Refuse me') throw new AgentError('GUARD_REJECTED', 'No.');
        if (words === 'Abort me') controller.abort();
        run.signal.throwIfAborted();
        return next(settled);
      },
    };
    const replies = [work[1]!, { toolCalls: [{ name: 'pay', id: 'pay' }] }, 'Done.'];
    const { agent, model } = setUp(seed, replies, workTools(), {
      // In the orders of odd numbers, an operator may join.
      parts: (each) => [...each, ...(seed % 2 ? [operator()] : []), refuse],
    });
    await agent.call(userMessage('Pay', { id: 'first' }));
    const before = await agent.messages();
    const { signal } = controller;
    const unknown = { toolUseId: 'unknown', type: 'approve' } as const;
    const join = operatorMessage('I check this.', { name: 'Bo', action: 'join' });
    for (const [refused, reason, options] of [
      [userMessage('Stop', { id: 'first' }), 'error'],
      ['Stop', 'error', { decisions: [unknown] }],
      [{ ...join, id: 'first' }, 'error'],
      ['Refuse me', 'rejected'],
      ['Abort me', 'aborted', { signal }],
    ] as const) {
      const end = await agent.call(refused, { ...options, throwOnError: false });
      expect(end).toMatchObject({ reason, pending: [{ toolUseId: 'pay' }] });
      expect(await agent.messages()).toEqual(before);
    }
    const approved = await agent.call([{ toolUseId: 'pay', type: 'approve' }]);
    expect(approved).toMatchObject({ reason: 'stop', text: 'Done.' });
    expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([{}, { output: 'paid' }]);
    model.assertDone();
  },
);
