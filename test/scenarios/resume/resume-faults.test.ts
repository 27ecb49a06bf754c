import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  AgentError,
  type AgentEvent,
  type EventOf,
  InMemoryMemory,
  toolMessage,
  userMessage,
  toolResultsOf,
  type Msg,
  tool,
  type ReplayPolicy,
  type Tool,
  type ToolOptions,
  type AgentInput,
  type AgentOptions,
  type Decision,
  ReActAgent,
} from '@isoloop/core';
import { permissionGuard } from '@isoloop/guards';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';

const amount = z.object({ amount: z.number() });
type Amount = typeof amount;

/**
 * Creates an agent and records the tools that ran and all events. `read` makes a call and checks
 * the event order, the history and the requests.
 */
function setUp(
  replies: readonly ScriptedReply[],
  options: Partial<AgentOptions> & { readonly more?: readonly Tool[] } = {},
  memory = new InMemoryMemory(),
) {
  const { more: extra = [], ...agentOptions } = options;
  const ran: string[] = [];
  const pay = (name: string, more: Partial<ToolOptions<Amount>> = {}) =>
    tool<Amount>({
      name,
      description: 'Pays',
      input: amount,
      execute: (input, { idempotencyKey, emit }) => {
        emit('paying');
        ran.push(`${idempotencyKey} ${JSON.stringify(input)}`);
        return `paid ${input.amount}`;
      },
      ...more,
    });
  const tools = [
    pay('free'),
    pay('asks', { needsApproval: true }),
    pay('big', { needsApproval: (input) => input.amount > 100 }),
    pay('waits', { execute: (_input, { suspend }) => suspend('the bank is closed') }),
    pay('safe', { replay: 'safe' }),
    pay('ask', { replay: 'ask' }),
    tool({ name: 'external', description: 'Runs elsewhere', input: amount }),
    ...extra,
  ];
  const model = new ScriptedModel(replies);
  const seen: AgentEvent[] = [];
  const agent = new ReActAgent({
    name: 'a',
    sessionId: 's',
    model,
    memory,
    tools,
    ...agentOptions,
  });
  agent.addHook({ on: { '*': (event) => void seen.push(event) } });
  const read = async (input?: AgentInput) => {
    const events: AgentEvent[] = [];
    const stream = agent.stream(input);
    for await (const event of stream) events.push(event);
    const result = await stream.result;
    expect(orderFaults(events)).toEqual([]);
    expect(historyFaults(await agent.messages(), openIds(await agent.messages()))).toEqual([]);
    expect(model.requests.flatMap(({ messages }) => requestFaults(messages))).toEqual([]);
    return { events, result };
  };
  const ids = (type: 'pre-acting' | 'post-acting') =>
    seen.flatMap((event) => (event.type === type ? [event.toolUse.id] : []));
  const results = async () =>
    (await agent.messages())
      .flatMap(toolResultsOf)
      .map(({ toolUseId, state }) => `${toolUseId} ${state}`);
  const outputs = async () =>
    (await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output);
  return { agent, model, memory, ran, seen, read, ids, results, outputs };
}

function openIds(messages: readonly Msg[]): readonly string[] {
  const closed = new Set(messages.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId));
  return messages.flatMap(({ content }) =>
    content.flatMap((block) =>
      block.type === 'tool_use' && !closed.has(block.id) ? [block.id] : [],
    ),
  );
}

const calls = (...names: readonly (string | readonly [string, number])[]): ScriptedReply => ({
  toolCalls: names.map((call) => {
    const [name, n] = typeof call === 'string' ? [call, 7] : call;
    return { name, input: { amount: n } };
  }),
});
const result = (toolUseId: string, output = 'done there'): Decision => ({
  type: 'result',
  toolUseId,
  output,
});
const first = <K extends AgentEvent['type']>(events: readonly AgentEvent[], type: K) =>
  events.find((event): event is EventOf<K> => event.type === type);

test('a rejection without a reason causes a denied result', async () => {
  const { read, ran, results, ids } = setUp([calls('asks'), 'noted']);
  await read('go');
  expect((await read([{ type: 'reject', toolUseId: 'call_1' }])).result.text).toBe('noted');
  expect([ran, await results()]).toEqual([[], ['call_1 denied']]);
  expect([ids('pre-acting'), ids('post-acting')]).toEqual([['call_1'], ['call_1']]);
});

test('an edit changes the tool call that a hook redirected to another tool', async () => {
  const redirect = (event: EventOf<'pre-acting'>) => ({
    ...event,
    toolUse: { ...event.toolUse, name: 'asks' },
  });
  const { read, ran, outputs } = setUp([calls('free'), 'ok'], {
    use: [{ on: { 'pre-acting': redirect } }],
  });
  expect((await read('go')).result.pending).toMatchObject([{ name: 'asks', kind: 'approval' }]);
  const approved = await read([{ type: 'edit', toolUseId: 'call_1', input: { amount: 2 } }]);
  expect(ran).toEqual(['s:call_1 {"amount":2}']);
  expect(first(approved.events, 'post-acting')?.toolUse).toMatchObject({
    name: 'asks',
    input: { amount: 2 },
  });
  expect(await outputs()).toEqual(['paid 2']);
});

test.for([
  ['a tool that asked to wait runs again', 'waits', 'suspended'],
  ['an approved external call still needs its result', 'external', 'external'],
] as const)('the decision approve: %s', async ([, name, kind]) => {
  const { read, ids } = setUp([calls(name), 'ok']);
  await read('go');
  expect((await read([{ type: 'approve', toolUseId: 'call_1' }])).result).toMatchObject({
    reason: 'suspended',
    pending: [{ kind }],
  });
  expect((await read([result('call_1')])).result.text).toBe('ok');
  expect([ids('pre-acting'), ids('post-acting')]).toEqual([['call_1'], ['call_1']]);
});

test('call() accepts tool messages as results, also several at once and results with media', async () => {
  const { read, agent, model } = setUp([calls('external', 'external', 'asks'), 'seen']);
  await read('go');
  const image = {
    type: 'image',
    source: { type: 'url', url: 'https://example.com/a.png' },
  } as const;
  const blocks = [
    {
      type: 'tool_result',
      toolUseId: 'call_2',
      name: 'external',
      output: [image],
      state: 'success',
    },
    { type: 'tool_result', toolUseId: 'call_3', name: 'asks', output: 'refused', state: 'denied' },
  ] as const;
  const one = toolMessage({
    type: 'tool_result',
    toolUseId: 'call_1',
    name: 'external',
    output: 'broken',
    state: 'error',
  });
  const { events, result: ended } = await read([one, { ...one, id: 'both', content: blocks }]);
  expect(events[0]).toHaveProperty('resumes');
  expect(ended).toMatchObject({ reason: 'stop', text: 'seen' });
  expect((await agent.messages()).flatMap(toolResultsOf)).toMatchObject([
    { toolUseId: 'call_1', output: 'broken', state: 'error' },
    { toolUseId: 'call_2', output: [image], state: 'success' },
    { toolUseId: 'call_3', output: 'refused', state: 'denied' },
  ]);
  expect(model.requests).toHaveLength(2);
});

const yes = (toolUseId: string): Decision => ({ type: 'approve', toolUseId });
const answer = (toolUseId: string): Msg =>
  toolMessage({ type: 'tool_result', toolUseId, name: 'external', output: 'x', state: 'success' });

const refused: readonly (readonly [string, AgentInput, string])[] = [
  ['an unknown id', [yes('call_1'), yes('nope')], 'INVALID_DECISION'],
  ['an id that has its result', [yes('call_3')], 'INVALID_DECISION'],
  ['an id twice', [yes('call_1'), { type: 'reject', toolUseId: 'call_1' }], 'INVALID_DECISION'],
  [
    'a decision and a result for one id',
    [yes('call_1'), answer('call_1')] as unknown as readonly Decision[],
    'INVALID_DECISION',
  ],
  ['a result twice', [answer('call_2'), answer('call_2')], 'INVALID_DECISION'],
  ['a result of an unknown call', answer('nope'), 'INVALID_DECISION'],
  [
    'decisions beside a message',
    [yes('call_1'), userMessage('and more')] as unknown as readonly Decision[],
    'INVALID_DECISION',
  ],
  ['results beside a message', [answer('call_2'), userMessage('and more')], 'INVALID_DECISION'],
  [
    'a result and a text in one',
    { ...answer('call_2'), content: [...answer('call_2').content, { type: 'text', text: 'hm' }] },
    'INVALID_DECISION',
  ],
  ['other input', 'never mind', 'PENDING_TOOL_CALLS'],
  [
    'an edit without arguments',
    [{ type: 'edit', toolUseId: 'call_1' } as unknown as Decision],
    'INVALID_INPUT',
  ],
  [
    'a result without output',
    [{ type: 'result', toolUseId: 'call_1' } as unknown as Decision],
    'INVALID_INPUT',
  ],
  [
    'a decision of another type',
    [{ type: 'maybe', toolUseId: 'call_1' } as unknown as Decision],
    'INVALID_INPUT',
  ],
];

test.for(
  refused.flatMap((row) => [true, false].map((throwOnError) => [...row, throwOnError] as const)),
)(
  'rejects %s and changes nothing: %j %s, throwOnError %s',
  async ([, input, code, throwOnError]) => {
    const { agent, read, ran, ids } = setUp([calls('asks', 'external', 'free'), 'ok']);
    const before = await read('go');
    const messages = await agent.messages();
    const failed = agent.call(input, { throwOnError });
    if (throwOnError) await expect(failed).rejects.toMatchObject({ code });
    else expect(await failed).toMatchObject({ reason: 'error', error: { code } });
    expect(await agent.messages()).toEqual(messages);
    const again = await read();
    expect(again.result.pending).toEqual(before.result.pending);
    expect(again.events[0]).toMatchObject({ resumes: before.events[0]!.runId });
    expect((await read([yes('call_1'), result('call_2')])).result.text).toBe('ok');
    expect(ran).toEqual(['s:call_3 {"amount":7}', 's:call_1 {"amount":7}']);
    expect(ids('post-acting').toSorted()).toEqual(['call_1', 'call_2', 'call_3']);
  },
);

test('a second agent on the same memory applies decisions in its first call, and runs the pre-acting hooks that have not run', async () => {
  const one = setUp([calls('external', 'asks', 'asks')]);
  await one.read('go');
  const two = setUp(['ok'], {}, one.memory);
  const given = [
    result('call_1'),
    { type: 'edit', toolUseId: 'call_2', input: { amount: 1 } } as const,
    yes('call_3'),
  ];
  expect((await two.read(given)).result.text).toBe('ok');
  expect(two.ran).toEqual(['s:call_2 {"amount":1}', 's:call_3 {"amount":7}']);
  expect(two.ids('pre-acting')).toEqual(['call_2', 'call_3']);
});

/** Creates a conversation with one tool call. A host that died may have started this tool call. */
function left(name: string, input: { readonly amount: number } = { amount: 7 }): InMemoryMemory {
  const createdAt = '2026-01-01T00:00:00.000Z';
  return new InMemoryMemory([
    { id: 'u1', role: 'user', content: [{ type: 'text', text: 'go' }], createdAt },
    {
      id: 'a1',
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'call_1', name, input }],
      createdAt,
    },
  ]);
}

test.for([
  ['free', ['call_1 interrupted'], []],
  ['safe', ['call_1 success'], ['s:call_1 {"amount":7}']],
  ['nonsense', ['call_1 error'], []],
] as const)(
  'the result of a tool call of "%s" that a dead host left open: %j',
  async ([name, expected, executed]) => {
    const { read, results, ran, ids } = setUp(['ok'], {}, left(name));
    expect((await read()).result.text).toBe('ok');
    expect(await results()).toEqual(expected);
    expect(ran).toEqual(executed);
    expect(ids('post-acting')).toEqual(['call_1']);
  },
);

test('a tool call that a dead host left open counts as started, unless its approval predicate asks for approval', async () => {
  const small = setUp(['ok'], {}, left('big', { amount: 1 }));
  await small.read();
  expect([small.ran, await small.results()]).toEqual([[], ['call_1 interrupted']]);
  const big = setUp(['ok'], {}, left('big', { amount: 101 }));
  expect((await big.read()).result.pending).toMatchObject([{ kind: 'approval' }]);
  await big.read([yes('call_1')]);
  expect(big.ran).toEqual(['s:call_1 {"amount":101}']);
});

test.for([
  ['approve', yes('call_1'), ['s:call_1 {"amount":7}'], 'success'],
  [
    'edit',
    { type: 'edit', toolUseId: 'call_1', input: { amount: 1 } },
    ['s:call_1 {"amount":1}'],
    'success',
  ],
  ['reject', { type: 'reject', toolUseId: 'call_1' }, [], 'denied'],
  ['result', result('call_1'), [], 'success'],
] as const)(
  "an open tool call with `replay: 'ask'` waits for a decision: %s",
  async ([, decision, executed, state]) => {
    const { read, results, ran } = setUp(['ok'], {}, left('ask'));
    expect((await read()).result).toMatchObject({
      reason: 'suspended',
      pending: [{ toolUseId: 'call_1', kind: 'replay' }],
    });
    expect((await read()).result.pending).toMatchObject([{ kind: 'replay' }]);
    expect((await read([decision])).result.text).toBe('ok');
    expect([ran, await results()]).toEqual([executed, [`call_1 ${state}`]]);
  },
);

test('after a hook failure, finished tool calls keep results, pending tool calls stay pending, and all others are closed', async () => {
  let fail = true;
  const stuck = tool({
    name: 'stuck',
    description: 'Never ends',
    input: amount,
    execute: () => new Promise(() => {}),
  });
  const { agent, read, ran, results, ids } = setUp(
    [calls('free', 'asks', 'external', 'free', 'stuck', 'free'), 'ok'],
    {
      limits: { parallelTools: 1 },
      use: [
        {
          on: {
            'post-acting': ({ toolUse }) => {
              if (fail && toolUse.id === 'call_4') throw new Error('hook down');
            },
          },
        },
      ],
      more: [stuck],
    },
  );
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  fail = false;
  const { result: ended } = await read();
  expect(ended).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'call_2' }, { toolUseId: 'call_3' }],
  });
  expect(await results()).toEqual([
    'call_1 success',
    'call_4 error',
    'call_5 interrupted',
    'call_6 interrupted',
  ]);
  expect(ran).toEqual(['call_1', 'call_4'].map((id) => `s:${id} {"amount":7}`));
  expect((await read([yes('call_2'), result('call_3')])).result.text).toBe('ok');
  expect(ids('pre-acting')).toEqual(['call_1', 'call_2', 'call_3', 'call_4', 'call_5', 'call_6']);
});

test.for(['stop', 'error', 'error as a result'] as const)(
  'the run-start event of a run that continues open tool calls names the earlier run: %s',
  async (how) => {
    let broken = true;
    const { agent, read, ids } = setUp([calls('free', 'asks', 'free'), 'ok', 'next'], {
      limits: how === 'stop' ? { parallelTools: 1 } : {},
      use: [
        {
          on: {
            'post-acting'(event) {
              if (broken && how !== 'stop') throw new Error('hook down');
              if (broken) event.stop();
            },
          },
        },
      ],
    });
    const stream = agent.stream('go', { throwOnError: how !== 'error as a result' });
    await stream.result.catch(() => {});
    broken = false;
    const second = await read();
    expect(second.events[0]).toMatchObject({ resumes: stream.runId });
    const third = await read([yes('call_2')]);
    expect(third.events[0]).toMatchObject({ resumes: second.events[0]!.runId });
    expect(third.result.text).toBe('ok');
    expect(ids('pre-acting')).toEqual(['call_1', 'call_2', 'call_3']);
    expect((await read('more')).events[0]).not.toHaveProperty('resumes');
    expect(agent.status.openRunId).toBeUndefined();
  },
);

test('open tool calls stay open if a guard rejects the next call or if the next call is aborted before it begins', async () => {
  let isAllowed = true;
  const guards = permissionGuard(() => isAllowed);
  const { agent, read } = setUp([calls('asks'), 'ok'], { use: [guards] });
  const begun = await read('go');
  isAllowed = false;
  expect(await agent.call([yes('call_1')])).toMatchObject({ reason: 'rejected' });
  isAllowed = true;
  expect(await agent.call([yes('call_1')], { signal: AbortSignal.abort() })).toMatchObject({
    reason: 'aborted',
  });
  const ended = await read([yes('call_1')]);
  expect(ended.events[0]).toMatchObject({ resumes: begun.events[0]!.runId });
  expect([ended.result.text, agent.status.openRunId]).toEqual(['ok', undefined]);
});

test('after a tool that throws a fatal error, the next tool does not start, and the next call answers', async () => {
  const fatal = tool({
    name: 'fatal',
    description: 'Ends the call',
    input: amount,
    execute: () => {
      throw new AgentError('TOOL_ERROR', 'on fire');
    },
  });
  const { agent, read, ran, results } = setUp([calls('fatal', 'free'), 'ok'], {
    limits: { parallelTools: 1 },
    more: [fatal],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'TOOL_ERROR' });
  expect(ran).toEqual([]);
  await read();
  expect([ran, await results()]).toEqual([[], ['call_1 error', 'call_2 interrupted']]);
});

test('after the store rejected results, the next call treats the tool calls as their replay policy says', async () => {
  class Full extends InMemoryMemory {
    full = true;
    override async append(messages: readonly Msg[]): Promise<void> {
      if (this.full && messages.some(({ role }) => role === 'tool'))
        throw new AgentError('STORAGE_QUOTA', 'full');
      await super.append(messages);
    }
  }
  const memory = new Full();
  const { agent, read, results, ids } = setUp([calls('safe', 'free'), 'ok'], {}, memory);
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'STORAGE_QUOTA' });
  memory.full = false;
  expect((await read()).result.text).toBe('ok');
  expect((await results()).toSorted()).toEqual(['call_1 success', 'call_2 interrupted']);
  expect(ids('pre-acting')).toEqual(['call_1', 'call_2']);
});

test('if a pre-acting hook throws for the third of four tool calls, no tool runs, and the next call answers', async () => {
  let fail = true;
  const { agent, read, ran, ids, outputs } = setUp([calls('free', 'free', 'free', 'free'), 'ok'], {
    use: [
      {
        on: {
          'pre-acting': ({ toolUse }) =>
            fail && toolUse.id === 'call_3' ? Promise.reject(new Error('no')) : undefined,
        },
      },
    ],
  });
  await expect(agent.call('go')).rejects.toMatchObject({ code: 'HOOK_ERROR' });
  expect(ran).toEqual([]);
  fail = false;
  expect((await read()).result.text).toBe('ok');
  expect(ran).toEqual([]);
  expect([ids('pre-acting'), ids('post-acting')]).toEqual([
    ['call_1', 'call_2'],
    ['call_3', 'call_1', 'call_2', 'call_4'],
  ]);
  expect(await outputs()).toEqual([
    'Interrupted before it ran.',
    'Interrupted before it ran.',
    'Error: A hook failed before this call began.',
    'Interrupted before it ran.',
  ]);
});

test('pending tool calls stay pending after calls without input, and a result survives a model error', async () => {
  const { agent, read, ran } = setUp([
    calls('external'),
    { error: new AgentError('MODEL_SERVER', 'down') },
    'ok',
  ]);
  await read('go');
  for (let time = 0; time < 3; time += 1) expect((await read()).result.reason).toBe('suspended');
  await expect(agent.call([result('call_1')])).rejects.toMatchObject({ code: 'MODEL_SERVER' });
  expect((await read()).result.text).toBe('ok');
  expect(ran).toEqual([]);
});

test.for(['safe', 'ask', 'never'] satisfies ReplayPolicy[])(
  'the next call runs a tool call that has not started, with any replay policy (%s)',
  async (replay) => {
    let runs = 0;
    const own = tool({
      name: 'own',
      description: '',
      input: { type: 'object' },
      replay,
      execute: () => `run ${(runs += 1)}`,
    });
    let stop = true;
    const { read, outputs } = setUp([{ toolCalls: [{ name: 'own' }] }, 'ok'], {
      tools: [own],
      use: [{ on: { 'post-reasoning': (event) => void (stop && event.stop()) } }],
    });
    await read('go');
    stop = false;
    expect((await read()).result.text).toBe('ok');
    expect([runs, await outputs()]).toEqual([1, ['run 1']]);
  },
);

test('a tool call that a dead host left open does not run, even if the store first rejects its result', async () => {
  let full = true;
  class Full extends InMemoryMemory {
    override async append(messages: readonly Msg[]): Promise<void> {
      if (full) throw new AgentError('STORAGE_FAILED', 'down');
      await super.append(messages);
    }
  }
  const rejected: Decision[] = [{ type: 'reject', toolUseId: 'call_1' }];
  for (const [input, state] of [
    [undefined, 'interrupted'],
    [rejected, 'denied'],
  ] as const) {
    full = true;
    const { agent, read, ran, results } = setUp(['ok'], {}, new Full(await left('free').read()));
    await expect(agent.call(input)).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    full = false;
    expect((await read()).result.text).toBe('ok');
    expect([ran, await results()]).toEqual([[], [`call_1 ${state}`]]);
  }
});

test('a pause before any text returns an empty message, not an earlier message', async () => {
  const { agent, read } = setUp(['Paris', 'Rome', calls('external')]);
  await read('first');
  const off = agent.addHook({
    on: { 'pre-reasoning': () => void agent.interrupt({ mode: 'pause' }) },
  });
  expect((await read('second')).result).toMatchObject({
    reason: 'suspended',
    text: '',
    message: { content: [] },
  });
  off();
  expect((await read()).result.text).toBe('Rome');
  await read('third');
  const later = agent.addHook({
    on: { 'pre-reasoning': () => void agent.interrupt({ mode: 'pause' }) },
  });
  const paused = await read([result('call_1')]);
  later();
  expect(paused.result.message.content[0]).toMatchObject({ type: 'tool_use', id: 'call_1' });
});

/** Requests three tool calls if the conversation has no tool result, and answers otherwise. */
const anywhere: ScriptedReply = ({ messages }) =>
  messages.some(({ role }) => role === 'tool') ? 'all done' : threeCalls;
const threeCalls = {
  toolCalls: ['free', 'safe', 'ask'].map((name, index) => ({
    name,
    id: `t${index}`,
    input: { amount: index },
  })),
};

test('after a host died at any event, another host continues its log, and no finished or unsafe tool runs again', async () => {
  const outcomes = new Set<string>();
  for (let point = 0; ; point += 1) {
    const one = setUp([anywhere, anywhere]);
    let log: readonly Msg[] | undefined;
    let ranBefore: readonly string[] = [];
    const stream = one.agent.stream('go');
    let index = 0;
    for await (const _event of stream) {
      if (index++ !== point) continue;
      log = await one.agent.messages();
      ranBefore = [...one.ran];
    }
    if (!log) break;
    if (!log.length || (log.at(-1)?.role === 'assistant' && !openIds(log).length)) continue;

    const two = setUp([anywhere, anywhere], {}, new InMemoryMemory(log));
    let { result: ended } = await two.read();
    if (ended.reason === 'suspended') {
      expect(ended.pending).toMatchObject([{ name: 'ask', kind: 'replay' }]);
      ended = (await two.read([{ type: 'reject', toolUseId: ended.pending[0]!.toolUseId }])).result;
    }
    expect(ended, `after event ${point}`).toMatchObject({ reason: 'stop', text: 'all done' });
    const finished = log.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId);
    const again = two.ran.filter(
      (run) => ranBefore.includes(run) || finished.some((id) => run.startsWith(`s:${id} `)),
    );
    expect(
      again.filter((run) => !run.startsWith('s:t1 ')),
      `after event ${point}`,
    ).toEqual([]);
    expect(two.ran.filter((run) => finished.some((id) => run.startsWith(`s:${id} `)))).toEqual([]);
    expect(historyFaults(await two.agent.messages())).toEqual([]);
    outcomes.add((await two.results()).join());
  }
  expect(outcomes.size).toBeGreaterThan(2);
});
