import { expect, test } from 'vitest';
import {
  AgentError,
  type AgentEvent,
  assistantMessage,
  userMessage,
  textOf,
  type ModelRequest,
  tool,
  type AgentOptions,
  type AgentResult,
  ReActAgent,
} from '@isoloop/core';
import type { Hook, HookControls } from '@isoloop/core/event';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const input = { type: 'object', properties: { n: { type: 'number' } } } as const;
const add = tool({
  name: 'add',
  description: 'Adds one',
  input,
  execute: (value, { emit }) => {
    emit('adding');
    return Number((value as { n: number }).n) + 1;
  },
});
const broken = tool({
  name: 'broken',
  description: 'Fails',
  input,
  execute: () => {
    throw new Error('no disk');
  },
});
const fatal = tool({
  name: 'fatal',
  description: 'Ends the call',
  input,
  execute: () => {
    throw new AgentError('TOOL_ERROR', 'on fire');
  },
});
const deaf = tool({
  name: 'deaf',
  description: 'Never ends',
  input,
  execute: () => new Promise(() => {}),
});
const waits = tool({
  name: 'waits',
  description: 'Waits',
  input,
  execute: (_input, { suspend }) => suspend('for the boss'),
});
const external = tool({ name: 'external', description: 'Runs elsewhere', input });
const asked = tool({
  name: 'asked',
  description: 'Needs a yes',
  input,
  needsApproval: true,
  execute: (_input, { emit }) => {
    emit('on');
    return 'allowed';
  },
});
const tools = [add, broken, fatal, deaf, waits, external];

interface Seen {
  readonly agent: ReActAgent;
  readonly model: ScriptedModel;
  /** Events that the reader got. */
  readonly events: readonly AgentEvent[];
  /** Events that a hook got. */
  readonly heard: readonly AgentEvent[];
  readonly result?: AgentResult;
  readonly error?: unknown;
}

/** Gets each event and its index before the run continues. */
type Witness = (event: AgentEvent, index: number, agent: ReActAgent) => void;

interface RunOptions extends Partial<AgentOptions> {
  readonly signal?: AbortSignal;
  readonly onRead?: Witness;
  readonly onHear?: Witness;
  /** Input of the call. Default: 'go'. */
  readonly given?: string | undefined;
}

async function watch(replies: readonly ScriptedReply[], options: RunOptions = {}): Promise<Seen> {
  const { signal, onRead, onHear, given = 'go', ...agentOptions } = options;
  const model = new ScriptedModel(replies);
  const heard: AgentEvent[] = [];
  const agent: ReActAgent = new ReActAgent({
    name: 'a',
    model,
    tools,
    ...agentOptions,
    use: [
      {
        on: {
          '*'(event) {
            heard.push(event);
            onHear?.(event, heard.length - 1, agent);
          },
        },
      },
      ...(agentOptions.use ?? []),
    ],
  });
  const events: AgentEvent[] = [];
  const stream = agent.stream(given, signal && { signal });
  try {
    for await (const event of stream) {
      events.push(event);
      onRead?.(event, events.length - 1, agent);
    }
    return { agent, model, events, heard, result: await stream.result };
  } catch (error) {
    return { agent, model, events, heard, error };
  }
}

/** Formats an event as one line, so that a test can compare a whole run. */
function line(event: AgentEvent): string {
  const { type } = event;
  switch (type) {
    case 'reasoning-chunk':
    case 'summary-chunk':
      return `${type} ${event.delta}`;
    case 'tool-input-chunk':
    case 'acting-chunk':
      return `${type} ${event.toolUseId}`;
    case 'pre-acting':
      return `${type} ${event.toolUse.id}`;
    case 'post-acting':
      return `${type} ${event.toolUse.id} ${event.result.state}`;
    case 'error':
      return `${type} ${event.error.code}`;
    case 'run-end':
      return `${type} ${event.result.reason}`;
    default:
      return type;
  }
}

const callTools = (...names: string[]): ScriptedStep => ({
  toolCalls: names.map((name, index) => ({ name, input: { n: index } })),
});

interface Row extends RunOptions {
  readonly name: string;
  readonly replies: readonly ScriptedReply[];
  /** Every event of the run after `pre-call`. */
  readonly expected: readonly string[];
  /** Roles of the messages in the log. */
  readonly log: string;
  readonly open?: readonly string[];
}

const answer = [
  'pre-reasoning',
  'reasoning-chunk Done.',
  'post-reasoning',
  'post-call',
  'run-end stop',
];
/** Returns the events of a reply with this number of tool calls. */
const asks = (count: number): readonly string[] => [
  'pre-reasoning',
  ...Array.from({ length: count }, (_, index) => `tool-input-chunk call_${index + 1}`),
  'post-reasoning',
];
const once = (name: string, ...acting: string[]): Pick<Row, 'replies' | 'expected' | 'log'> => ({
  replies: [callTools(name), 'Done.'],
  expected: [...asks(1), ...acting, ...answer],
  log: 'user assistant tool assistant',
});

const ownCall = assistantMessage([{ type: 'tool_use', id: 'own', name: 'add', input: { n: 1 } }]);

type Jump = HookControls['jumpTo'];
/** Creates a handler that jumps at the first iteration only. */
const atFirst =
  (jump: (jumpTo: Jump) => void) =>
  ({ iteration, jumpTo }: { readonly iteration: number; readonly jumpTo: Jump }): void => {
    if (iteration === 1) jump(jumpTo);
  };

const rows: readonly Row[] = [
  { name: 'a plain answer', replies: ['Done.'], expected: answer, log: 'user assistant' },
  {
    name: 'thinking and text in several deltas',
    replies: [{ thinking: 'Hm. Well.', text: 'It is so.' }],
    expected: [
      'pre-reasoning',
      'reasoning-chunk Hm. ',
      'reasoning-chunk Well.',
      'reasoning-chunk It ',
      'reasoning-chunk is ',
      'reasoning-chunk so.',
      'post-reasoning',
      'post-call',
      'run-end stop',
    ],
    log: 'user assistant',
  },
  {
    name: 'one tool',
    ...once('add', 'pre-acting call_1', 'acting-chunk call_1', 'post-acting call_1 success'),
  },
  {
    name: 'parallel tools',
    replies: [callTools('add', 'add', 'add'), 'Done.'],
    expected: [
      ...asks(3),
      'pre-acting call_1',
      'pre-acting call_2',
      'pre-acting call_3',
      'acting-chunk call_1',
      'acting-chunk call_2',
      'acting-chunk call_3',
      'post-acting call_1 success',
      'post-acting call_2 success',
      'post-acting call_3 success',
      ...answer,
    ],
    log: 'user assistant tool tool tool assistant',
  },
  {
    name: 'a tool that throws',
    ...once('broken', 'pre-acting call_1', 'post-acting call_1 error'),
  },
  { name: 'an unknown tool', ...once('none', 'pre-acting call_1', 'post-acting call_1 error') },
  {
    name: 'arguments that are not JSON',
    ...once('add', 'pre-acting call_1', 'post-acting call_1 error'),
    replies: [{ toolCalls: [{ name: 'add', input: '{bad' }] }, 'Done.'],
  },
  {
    name: 'a call that a hook rejects',
    ...once('add', 'pre-acting call_1', 'post-acting call_1 denied'),
    use: [{ on: { 'pre-acting': ({ reject }) => reject('not now') } }],
  },
  {
    name: 'the limit',
    replies: [callTools('add'), 'In short: 1.'],
    limits: { iterations: 1 },
    expected: [
      ...asks(1),
      'pre-acting call_1',
      'acting-chunk call_1',
      'post-acting call_1 success',
      'pre-summary',
      'summary-chunk In ',
      'summary-chunk short: ',
      'summary-chunk 1.',
      'post-summary',
      'post-call',
      'run-end max-iterations',
    ],
    log: 'user assistant tool assistant',
  },
  {
    name: 'calls that wait, beside one that runs',
    replies: [callTools('waits', 'add', 'external')],
    expected: [
      ...asks(3),
      'pre-acting call_1',
      'pre-acting call_2',
      'pre-acting call_3',
      'acting-chunk call_2',
      'post-acting call_2 success',
      'suspended',
      'post-call',
      'run-end suspended',
    ],
    log: 'user assistant tool',
    open: ['call_1', 'call_3'],
  },
  {
    name: 'a model that fails in the middle',
    replies: [{ text: 'Half an', error: new AgentError('MODEL_SERVER', 'down') }],
    expected: [
      'pre-reasoning',
      'reasoning-chunk Half ',
      'reasoning-chunk an',
      'error MODEL_SERVER',
      'run-end error',
    ],
    log: 'user',
  },
  {
    name: 'a tool that ends the call',
    replies: [callTools('deaf', 'fatal')],
    expected: [
      ...asks(2),
      'pre-acting call_1',
      'pre-acting call_2',
      'post-acting call_2 error',
      'post-acting call_1 interrupted',
      'error TOOL_ERROR',
      'run-end error',
    ],
    log: 'user assistant tool tool',
  },
  {
    name: 'stop() from post-reasoning',
    replies: [callTools('add')],
    use: [{ on: { 'post-reasoning': ({ stop }) => stop() } }],
    expected: [...asks(1), 'post-call', 'run-end stopped-by-hook'],
    log: 'user assistant',
    open: ['call_1'],
  },
  {
    name: 'stop() from post-acting',
    replies: [callTools('broken', 'broken')],
    use: [{ on: { 'post-acting': ({ stop }) => stop() } }],
    expected: [
      ...asks(2),
      'pre-acting call_1',
      'pre-acting call_2',
      'post-acting call_1 error',
      'post-acting call_2 error',
      'post-call',
      'run-end stopped-by-hook',
    ],
    log: 'user assistant tool tool',
  },
  {
    name: 'gotoReasoning',
    replies: ['Nope.', 'Done.'],
    use: [
      {
        on: {
          'post-reasoning': ({ iteration, gotoReasoning }) =>
            void (iteration === 1 && gotoReasoning([userMessage('Think.')])),
        },
      },
    ],
    expected: ['pre-reasoning', 'reasoning-chunk Nope.', 'post-reasoning', ...answer],
    log: 'user assistant user assistant',
  },
  {
    name: 'gotoReasoning with open calls',
    replies: [callTools('add', 'add'), 'Done.'],
    use: [
      {
        on: {
          'post-reasoning': ({ iteration, gotoReasoning }) =>
            void (iteration === 1 && gotoReasoning([])),
        },
      },
    ],
    expected: [
      ...asks(2),
      'post-acting call_1 interrupted',
      'post-acting call_2 interrupted',
      ...answer,
    ],
    log: 'user assistant tool tool assistant',
  },
  {
    name: 'jumpTo end before the model',
    replies: [],
    use: [{ on: { 'pre-reasoning': ({ jumpTo }) => jumpTo('end', 'Not today.', 'limit') } }],
    expected: ['pre-reasoning', 'reasoning-chunk Not today.', 'post-call', 'run-end limit'],
    log: 'user assistant',
  },
  {
    name: 'jumpTo end before the model, without an answer',
    replies: [],
    use: [{ on: { 'pre-reasoning': ({ jumpTo }) => jumpTo('end') } }],
    expected: ['pre-reasoning', 'post-call', 'run-end stopped-by-hook'],
    log: 'user',
  },
  {
    name: 'jumpTo tools before the model',
    replies: ['Done.'],
    use: [{ on: { 'pre-reasoning': atFirst((jumpTo) => jumpTo('tools', ownCall)) } }],
    expected: [
      'pre-reasoning',
      'pre-acting own',
      'acting-chunk own',
      'post-acting own success',
      ...answer,
    ],
    log: 'user assistant tool assistant',
  },
  {
    name: 'jumpTo model before the model',
    replies: ['Done.'],
    use: [
      { on: { 'pre-reasoning': atFirst((jumpTo) => jumpTo('model', [userMessage('Think.')])) } },
    ],
    expected: ['pre-reasoning', ...answer],
    log: 'user user assistant',
  },
  {
    name: 'jumpTo end after the model, with calls open',
    replies: [callTools('add', 'add')],
    use: [{ on: { 'post-reasoning': ({ jumpTo }) => jumpTo('end', 'Enough.') } }],
    expected: [
      ...asks(2),
      'post-acting call_1 interrupted',
      'post-acting call_2 interrupted',
      'reasoning-chunk Enough.',
      'post-call',
      'run-end stopped-by-hook',
    ],
    log: 'user assistant tool tool assistant',
  },
  {
    name: 'jumpTo end after the model, with its reply',
    replies: ['Done.'],
    use: [{ on: { 'post-reasoning': ({ jumpTo }) => jumpTo('end') } }],
    expected: [
      'pre-reasoning',
      'reasoning-chunk Done.',
      'post-reasoning',
      'post-call',
      'run-end stopped-by-hook',
    ],
    log: 'user assistant',
  },
  {
    name: 'jumpTo tools after the model',
    replies: ['I see.', 'Done.'],
    use: [{ on: { 'post-reasoning': atFirst((jumpTo) => jumpTo('tools', ownCall)) } }],
    expected: [
      'pre-reasoning',
      'reasoning-chunk I ',
      'reasoning-chunk see.',
      'post-reasoning',
      'pre-acting own',
      'acting-chunk own',
      'post-acting own success',
      ...answer,
    ],
    log: 'user assistant assistant tool assistant',
  },
  {
    name: 'jumpTo end after one of several calls, another of which waits',
    replies: [callTools('broken', 'external')],
    use: [
      {
        on: {
          'post-acting': ({ toolUse, jumpTo }) =>
            toolUse.id === 'call_1' ? jumpTo('end', 'Enough.') : undefined,
        },
      },
    ],
    expected: [
      ...asks(2),
      'pre-acting call_1',
      'pre-acting call_2',
      'post-acting call_1 error',
      'post-acting call_2 interrupted',
      'reasoning-chunk Enough.',
      'post-call',
      'run-end stopped-by-hook',
    ],
    log: 'user assistant tool tool assistant',
  },
  {
    name: 'jumpTo model after a call, with a message',
    replies: [callTools('broken'), 'Done.'],
    use: [{ on: { 'post-acting': ({ jumpTo }) => jumpTo('model', 'Try another way.') } }],
    expected: [...asks(1), 'pre-acting call_1', 'post-acting call_1 error', ...answer],
    log: 'user assistant tool user assistant',
  },
  {
    name: 'a tool whose result is the answer',
    replies: [callTools('add')],
    returnDirect: true,
    expected: [
      ...asks(1),
      'pre-acting call_1',
      'acting-chunk call_1',
      'post-acting call_1 success',
      'reasoning-chunk 1',
      'post-call',
      'run-end return-direct',
    ],
    log: 'user assistant tool assistant',
  },
  {
    name: 'an abort before the start',
    replies: [],
    signal: AbortSignal.abort(),
    expected: ['run-end aborted'],
    log: 'user',
  },
];

test.for(rows)(
  'the events of a run come in the documented order: $name',
  async ({ replies, expected, log, open, name: _name, ...options }) => {
    const { agent, model, events, heard } = await watch(replies, options);
    expect(events.map(line)).toEqual(['run-start', 'pre-call', ...expected]);
    expect(orderFaults(events)).toEqual([]);
    expect(heard).toEqual(events);
    const messages = await agent.messages();
    expect(messages.map(({ role }) => role).join(' ')).toBe(log);
    expect(historyFaults(messages, open)).toEqual([]);
    expect(model.requests.flatMap((request) => requestFaults(request.messages))).toEqual([]);
    expect(model.requests).toHaveLength(replies.length);
  },
);

test('if a hook changes a message, a step-reset announces the change, and only hooks get the original message', async () => {
  const rewrite = <E extends { readonly message: AgentResult['message'] }>(event: E): E => ({
    ...event,
    message: { ...event.message, content: [...event.message.content, { type: 'text', text: '!' }] },
  });
  const hooks: readonly Hook[] = [
    { on: { 'post-reasoning': rewrite, 'post-summary': rewrite, 'post-call': rewrite } },
  ];
  const { events, heard, result } = await watch([callTools('broken'), 'Done.'], {
    use: [...hooks],
    limits: { iterations: 1 },
  });
  expect(events.map(line)).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'tool-input-chunk call_1',
    'step-reset',
    'post-reasoning',
    'pre-acting call_1',
    'post-acting call_1 error',
    'pre-summary',
    'summary-chunk Done.',
    'step-reset',
    'post-summary',
    'step-reset',
    'post-call',
    'run-end max-iterations',
  ]);
  expect(orderFaults(events)).toEqual([]);
  expect(result?.text).toBe('Done.\n!\n!');
  expect(
    heard.filter((event) => event.type === 'post-call').map(({ message }) => textOf(message)),
  ).toEqual(['Done.\n!']);
});

/**
 * Replies to the last message. Replies to tool results and to `next` are answers, and the first
 * reply contains tool calls.
 */
function replyTo(request: ModelRequest): string | ScriptedStep {
  const last = request.messages.at(-1)!;
  if (!request.tools.length) return 'In short: 2.';
  if (last.role === 'tool') return 'It is 2.';
  if (textOf(last) === 'next') return 'Next it is.';
  return {
    thinking: 'Hm.',
    text: 'Let me see.',
    toolCalls: [
      { name: 'add', input: { n: 1 }, id: 'add_1' },
      { name: 'broken', id: 'broken_1' },
    ],
  };
}

const script = (): ScriptedReply[] => Array<ScriptedReply>(9).fill(replyTo);

interface Cut {
  readonly how: 'interrupt' | 'pause' | 'inject' | 'abort';
  readonly by: 'reader' | 'hook';
  readonly iterations: number;
}

const cuts = (['interrupt', 'pause', 'inject', 'abort'] as const).flatMap((how) =>
  (['reader', 'hook'] as const).flatMap((by) =>
    [10, 1].map((iterations): Cut => ({ how, by, iterations })),
  ),
);

test.for(cuts)(
  '$how by a $by at every event of a run with at most $iterations iterations ends correctly',
  async ({ how, by, iterations }) => {
    const limits = { iterations };
    const whole = await watch(script(), { limits });
    const history = (await whole.agent.messages()).map(({ role, content }) => ({ role, content }));
    const end = whole.events.findLastIndex(
      ({ type }) => type === 'post-reasoning' || type === 'post-summary',
    );
    expect(whole.events.length).toBeGreaterThan(20);

    for (const [point, { type }] of whole.events.entries()) {
      const controller = new AbortController();
      let taken = true;
      const act: Witness = (_event, index, agent) => {
        if (index !== point) return;
        if (how === 'abort') controller.abort();
        else if (how === 'inject') taken = agent.interrupt({ mode: 'inject', messages: 'next' });
        else taken = agent.interrupt(how === 'pause' ? { mode: 'pause' } : {});
      };
      const seen = await watch(script(), {
        limits,
        signal: controller.signal,
        [by === 'hook' ? 'onHear' : 'onRead']: act,
      });
      const { agent, model, events, heard, result } = seen;
      const at = `${point} ${type}`;
      const finished =
        iterations === 1 && result?.text !== 'Next it is.' ? 'max-iterations' : 'stop';
      const ended = {
        interrupt: 'interrupted',
        pause: 'suspended',
        inject: finished,
        abort: 'aborted',
      }[how];
      expect(result?.reason, at).toBe(point < end ? ended : finished);
      expect(orderFaults(events), at).toEqual([]);
      expect(heard, at).toEqual(events);
      expect(historyFaults(await agent.messages()), at).toEqual([]);
      if (how === 'inject') {
        const given = (await agent.messages()).filter((message) => textOf(message) === 'next');
        expect(given, at).toHaveLength(Number(taken));
        if (iterations > 1)
          expect(result?.text, at).toBe(point <= end ? 'Next it is.' : 'It is 2.');
      }
      if (how === 'pause' && result?.reason === 'suspended') {
        const resumed = await agent.stream();
        const more: AgentEvent[] = [];
        for await (const event of resumed) more.push(event);
        expect(orderFaults(more), at).toEqual([]);
        expect(more[0], at).toMatchObject({ resumes: events[0]!.runId });
        if (iterations > 1)
          expect(
            (await agent.messages()).map(({ role, content }) => ({ role, content })),
            at,
          ).toEqual(history);
      }
      expect((await agent.call('next')).text, at).toBe('Next it is.');
      expect(historyFaults(await agent.messages()), at).toEqual([]);
      expect(
        model.requests.flatMap((request) => requestFaults(request.messages)),
        at,
      ).toEqual([]);
    }
  },
);

test.for(rows.filter(({ signal }) => !signal))(
  'a late reader gets the events in the same order: $name',
  async ({ replies, expected, ...options }) => {
    const { use = [], limits = {}, returnDirect = false } = options;
    const { agent } = scriptedAgent(replies, { tools, use, limits, returnDirect });
    const stream = agent.stream('go', { detached: true, throwOnError: false });
    await stream.result;
    const events: AgentEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(orderFaults(events)).toEqual([]);
    const steps = (lines: readonly string[]): readonly string[] =>
      lines.filter((text) => !/^(reasoning|summary)-chunk/.test(text));
    expect(steps(events.map(line))).toEqual(['run-start', 'pre-call', ...steps(expected)]);
  },
);

const resumed = (['interrupt', 'pause', 'abort'] as const).flatMap((how) =>
  (['reader', 'hook'] as const).map((by) => ({ how, by })),
);

test.for(resumed)(
  '$how by a $by at every event of a resumed run ends correctly',
  async ({ how, by }) => {
    const start = async (): Promise<ReActAgent> => {
      const { agent } = scriptedAgent(
        [callTools('external', 'asked', 'waits', 'asked'), ...script()],
        { tools: [...tools, asked] },
      );
      expect((await agent.call('go')).pending.map(({ kind }) => kind)).toEqual([
        'external',
        'approval',
        'suspended',
        'approval',
      ]);
      return agent;
    };
    const decisions = [
      { toolUseId: 'call_1', type: 'result', output: 'here' },
      { toolUseId: 'call_2', type: 'approve' },
      { toolUseId: 'call_3', type: 'result', output: 'the boss agrees' },
      { toolUseId: 'call_4', type: 'reject' },
    ] as const;
    const watchResume = async (
      agent: ReActAgent,
      act: (event: AgentEvent, index: number) => void,
      signal?: AbortSignal,
    ) => {
      const events: AgentEvent[] = [];
      const heard: AgentEvent[] = [];
      const off = agent.addHook({
        on: {
          '*'(event) {
            heard.push(event);
            if (by === 'hook') act(event, heard.length - 1);
          },
        },
      });
      for await (const event of agent.stream(decisions, signal && { signal })) {
        events.push(event);
        if (by === 'reader') act(event, events.length - 1);
      }
      off();
      return { events, heard };
    };
    const { events: whole } = await watchResume(await start(), () => {});
    const end = whole.findLastIndex(({ type }) => type === 'post-reasoning');
    expect(whole.map(line).slice(0, 7)).toEqual([
      'run-start',
      'pre-call',
      'post-acting call_1 success',
      'post-acting call_3 success',
      'post-acting call_4 denied',
      'acting-chunk call_2',
      'post-acting call_2 success',
    ]);
    for (const [point, { type }] of whole.entries()) {
      const controller = new AbortController();
      const agent = await start();
      const act = (_event: AgentEvent, index: number): void => {
        if (index !== point) return;
        if (how === 'abort') controller.abort();
        else agent.interrupt(how === 'pause' ? { mode: 'pause' } : {});
      };
      const { events, heard } = await watchResume(agent, act, controller.signal);
      const at = `${point} ${type}`;
      const ended = { interrupt: 'interrupted', pause: 'suspended', abort: 'aborted' }[how];
      expect(events.at(-1), at).toMatchObject({ result: { reason: point < end ? ended : 'stop' } });
      expect(orderFaults(events), at).toEqual([]);
      expect(heard, at).toEqual(events);
      expect(historyFaults(await agent.messages()), at).toEqual([]);
      expect((await agent.call('next')).text, at).toBe('Next it is.');
    }
  },
);

const failing = [
  'run-start',
  'pre-call',
  'pre-reasoning',
  'reasoning-chunk',
  'tool-input-chunk',
  'post-reasoning',
  'pre-acting',
  'acting-chunk',
  'post-acting',
  'pre-summary',
  'summary-chunk',
  'post-summary',
  'post-call',
  'run-end',
] as const;

test.for(failing)(
  'a hook that throws at %s fails the call, and the conversation can continue',
  async (type) => {
    let down = true;
    const later: AgentEvent[] = [];
    const hooks: readonly Hook[] = [
      {
        name: 'faulty',
        on: {
          '*'(event) {
            if (down && event.type === type) throw new Error('hook down');
          },
        },
      },
      { on: { '*': (event) => void later.push(event) } },
    ];
    const { agent, model, events, heard, error } = await watch(script(), {
      use: [...hooks],
      limits: { iterations: 1 },
    });
    expect(error).toMatchObject({
      code: 'HOOK_ERROR',
      message: `Hook "faulty" failed at ${type}: hook down`,
    });
    expect(orderFaults([...(type === 'run-start' ? heard.slice(0, 1) : []), ...events])).toEqual(
      [],
    );
    expect(events.slice(-2).map(line)).toEqual(['error HOOK_ERROR', 'run-end error']);
    // The reader does not get the event at which the hook failed, but other hooks may have got the
    // event.
    const shown = new Set(events.map(({ seq }) => seq));
    expect(heard.filter(({ seq }) => shown.has(seq))).toEqual(events);
    const lost = new Set(heard.filter(({ seq }) => !shown.has(seq)).map((event) => event.type));
    expect([...lost]).toEqual([type]);
    expect(later.slice(-2).map(line)).toEqual(['error HOOK_ERROR', 'run-end error']);

    down = false;
    const messages = await agent.messages();
    const done = new Set(
      messages.flatMap(({ content }) =>
        content.flatMap((block) => (block.type === 'tool_result' ? block.toolUseId : [])),
      ),
    );
    const open = ['add_1', 'broken_1'].filter((id) => !done.has(id));
    expect(historyFaults(messages, open)).toEqual([]);
    if (messages.some(({ role }) => role === 'assistant') && open.length)
      expect((await agent.call()).text).toBe('It is 2.');
    expect((await agent.call('next')).text).toBe('Next it is.');
    expect(model.requests.flatMap((request) => requestFaults(request.messages))).toEqual([]);
  },
);

test.for(['suspended', 'step-reset', 'error'] as const)(
  'a hook that throws at %s does not hide how the run ended',
  async (type) => {
    const hooks: readonly Hook[] = [
      {
        name: 'faulty',
        on: {
          'post-reasoning': (event) => ({ ...event, message: { ...event.message } }),
          [type]: () => {
            throw new Error('hook down');
          },
        },
      },
    ];
    const replies =
      type === 'error' ? [{ error: new AgentError('MODEL_SERVER', 'down') }] : [callTools('waits')];
    const { events, error } = await watch(replies, { use: [...hooks] });
    expect(error).toMatchObject({ code: type === 'error' ? 'MODEL_SERVER' : 'HOOK_ERROR' });
    expect(orderFaults(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'run-end', result: { reason: 'error' } });
  },
);
