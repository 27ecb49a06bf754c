import { expect, test } from 'vitest';
import * as z from 'zod';
import type { AgentEvent } from '../event/agent-event.ts';
import { InMemoryMemory } from '../memory/in-memory-memory.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import { toolResultsOf, type ToolUse } from '../message/msg.ts';
import { signalUntilTestEnd } from '@test/support/test-end.ts';
import { historyFaults, requestFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool, type Tool } from '../tool/tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import { ReActAgent } from '../react-agent/react-agent.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { approvals, type ApprovalsOptions } from './approvals.ts';
import type { ApprovalDecision } from './ask-approver.ts';
import type { PendingCall } from '../event/pending-call.ts';
import { toolRetry } from '../resilience/tool-retry.ts';

const input = z.object({ n: z.number() });
const names = ['read', 'pay', 'mail'] as const;

function setUp(
  hitl: ApprovalsOptions,
  replies: readonly ScriptedReply[],
  more: Partial<AgentOptions> = {},
) {
  const ran: string[] = [];
  const tools = names.map((name) =>
    tool({
      name,
      description: '',
      input,
      execute: ({ n }) => {
        ran.push(`${name} ${n}`);
        return `${name} ${n}`;
      },
    }),
  );
  const model = new ScriptedModel(replies);
  const events: AgentEvent[] = [];
  const hooks = [{ on: { '*': (event: AgentEvent) => void events.push(event) } }];
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools,
    ...more,
    use: [...hooks, approvals(hitl), ...(more.use ?? [])],
  });
  return { agent, model, ran, events };
}

const calls = (...asked: readonly string[]): ScriptedReply => ({
  toolCalls: asked.map((name, index) => ({
    name,
    id: `call_${index + 1}`,
    input: { n: index + 1 },
  })),
});

const results = async (agent: ReActAgent): Promise<readonly string[]> =>
  (await agent.messages())
    .flatMap(toolResultsOf)
    .map(({ toolUseId, state, output }) => `${toolUseId} ${state}: ${String(output)}`)
    .toSorted();

test('tool calls of the named tools suspend with their descriptions, and the others run', async () => {
  const when = (value: unknown): boolean => (value as { n: number }).n > 2;
  const needsApproval = { pay: 'Moves money.', mail: { when, description: 'Goes out.' } };
  const { agent, ran } = setUp({ needsApproval }, [
    calls('read', 'pay', 'mail', 'pay'),
    calls('mail'),
    'Done.',
  ]);
  const { reason, pending } = await agent.call('go');
  expect(reason).toBe('suspended');
  expect(ran).toEqual(['read 1']);
  expect(pending).toEqual([
    { toolUseId: 'call_2', name: 'pay', input: { n: 2 }, kind: 'approval', reason: 'Moves money.' },
    { toolUseId: 'call_3', name: 'mail', input: { n: 3 }, kind: 'approval', reason: 'Goes out.' },
    { toolUseId: 'call_4', name: 'pay', input: { n: 4 }, kind: 'approval', reason: 'Moves money.' },
  ]);
  await expect(
    agent.call([{ toolUseId: 'call_2', name: 'mail', type: 'approve' }]),
  ).rejects.toMatchObject({ code: 'INVALID_DECISION' });
  const some = await agent.call([
    { toolUseId: 'call_2', name: 'pay', type: 'approve' },
    { toolUseId: 'call_3', type: 'reject', reason: 'Not now.' },
  ]);
  expect(some.pending.map(({ toolUseId }) => toolUseId)).toEqual(['call_4']);
  expect((await agent.call([{ toolUseId: 'call_4', type: 'edit', input: { n: 40 } }])).text).toBe(
    'Done.',
  );
  expect(ran).toEqual(['read 1', 'pay 2', 'pay 40', 'mail 1']);
  expect(await results(agent)).toContain('call_3 denied: Tool call rejected: Not now.');
});

test('a new process decides pending tool calls after it loaded a saved state, or only the messages', async () => {
  const first = setUp({ needsApproval: { pay: true } }, [calls('read', 'pay')]);
  await first.agent.call('go');
  const saved: unknown = JSON.parse(JSON.stringify(await saveState(first.agent)));

  const second = setUp({ needsApproval: { pay: true } }, ['Done.']);
  await loadState(second.agent, saved);
  expect((await second.agent.call()).pending.map(({ kind }) => kind)).toEqual(['approval']);
  expect((await second.agent.call([{ toolUseId: 'call_2', type: 'approve' }])).text).toBe('Done.');
  expect(second.ran).toEqual(['pay 2']);

  const third = setUp({ needsApproval: { pay: true } }, ['Done.'], {
    memory: new InMemoryMemory(await first.agent.messages()),
  });
  expect((await third.agent.call()).pending.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    'pay approval',
  ]);
  expect((await third.agent.call([{ toolUseId: 'call_2', type: 'approve' }])).text).toBe('Done.');
  expect(third.ran).toEqual(['pay 2']);
});

test('a new process with the stored log continues tool calls that are decided, edited or still pending', async () => {
  const store = new MemoryStore();
  const needsApproval = { pay: 'Moves money.', mail: true } as const;
  const open = (replies: readonly ScriptedReply[]) =>
    setUp({ needsApproval }, replies, { memory: new SessionMemory(store, 's') });
  const first = open([calls('read', 'pay', 'mail', 'pay')]);
  const { pending } = await first.agent.call('go');
  expect(pending.map(({ toolUseId, reason }) => [toolUseId, reason])).toEqual([
    ['call_2', 'Moves money.'],
    ['call_3', undefined],
    ['call_4', 'Moves money.'],
  ]);

  const second = open([]);
  expect((await second.agent.call()).pending).toEqual(pending);
  await expect(
    second.agent.call([{ toolUseId: 'call_2', name: 'mail', type: 'approve' }]),
  ).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  const some = await second.agent.call([
    { toolUseId: 'call_2', type: 'edit', input: { n: 20 } },
    { toolUseId: 'call_3', type: 'reject' },
  ]);
  expect(some.pending).toEqual(pending.slice(2));
  expect(second.ran).toEqual(['pay 20']);

  const third = open(['Done.']);
  await expect(third.agent.call([{ toolUseId: 'call_2', type: 'approve' }])).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  expect((await third.agent.call([{ toolUseId: 'call_4', type: 'approve' }])).text).toBe('Done.');
  expect(third.ran).toEqual(['pay 4']);
  expect(requestFaults(third.model.requests[0]!.messages)).toEqual([]);
  expect((await results(third.agent)).map((result) => result.split(':')[0])).toEqual([
    'call_1 success',
    'call_2 success',
    'call_3 denied',
    'call_4 success',
  ]);
});

test('tool calls stay pending if the host dies during `decide`, and are closed as interrupted if it dies while they run', async () => {
  const store = new MemoryStore();
  let asked!: () => void;
  const asking = new Promise<void>((resolve) => (asked = resolve));
  const answers: ((decision: ApprovalDecision | undefined) => void)[] = [];
  const never = (): Promise<ApprovalDecision | undefined> =>
    new Promise((resolve) => answers.push(resolve) > 1 && asked());
  const needsApproval = { pay: 'Moves money.', mail: true } as const;
  const hooks: string[] = [];
  const hook = {
    on: {
      'pre-acting': ({ toolUse }: { readonly toolUse: ToolUse }) => void hooks.push(toolUse.name),
    },
  };
  const open = (
    hitl: ApprovalsOptions,
    replies: readonly ScriptedReply[],
    tools: readonly Tool[] = [],
  ) => {
    const set = setUp({ needsApproval, ...hitl }, replies, {
      memory: new SessionMemory(store, 's'),
      use: [hook],
      ...(tools.length && { tools }),
    });
    return set;
  };
  const signal = signalUntilTestEnd();
  void open({ decide: never }, [calls('pay', 'mail')]).agent.call('go', { signal });
  await asking;
  const waiting = [
    { toolUseId: 'call_1', name: 'pay', input: { n: 1 }, kind: 'approval', reason: 'Moves money.' },
    { toolUseId: 'call_2', name: 'mail', input: { n: 2 }, kind: 'approval' },
  ];
  expect((await open({}, []).agent.call()).pending).toEqual(waiting);

  let started!: () => void;
  const running = new Promise<void>((resolve) => (started = resolve));
  const hangs = tool({
    name: 'pay',
    description: '',
    input,
    execute: () => (started(), new Promise<string>(() => {})),
  });
  const decide = ({ name }: PendingCall): ApprovalDecision | undefined =>
    name === 'pay' ? { type: 'edit', input: { n: 10 } } : undefined;
  void open(
    { decide },
    [],
    [hangs, tool({ name: 'mail', description: '', input, execute: () => 'sent' })],
  ).agent.call(undefined, { signal });
  await running;

  const last = open({ decide: () => ({ type: 'approve' }) }, ['Done.']);
  expect((await last.agent.call()).text).toBe('Done.');
  expect(last.ran).toEqual(['mail 2']);
  expect((await results(last.agent))[0]).toBe(
    'call_1 interrupted: Interrupted before it finished; its effect is unknown.',
  );
  expect(hooks).toEqual(['pay', 'mail']);
});

test('`decide` is asked about all tool calls at once, and each decision applies to its own tool call', async () => {
  const asked: PendingCall[] = [];
  const answers = new Map<string, (decision: ApprovalDecision | undefined) => void>();
  let onAll!: () => void;
  const all = new Promise<void>((resolve) => (onAll = resolve));
  const decide = (pending: PendingCall): Promise<ApprovalDecision | undefined> =>
    new Promise((resolve) => {
      asked.push(pending);
      answers.set(pending.toolUseId, resolve);
      if (answers.size === 4) onAll();
    });
  const replies = [calls('pay', 'read', 'pay', 'mail', 'pay'), 'Done.'];
  const { agent, ran, model, events } = setUp(
    { needsApproval: { pay: 'Moves money.', mail: true }, decide },
    replies,
  );
  const call = agent.call('go');
  await all;
  expect(ran).toEqual(['read 2']);
  expect(asked.map(({ toolUseId, reason }) => `${toolUseId} ${reason}`)).toEqual([
    'call_1 Moves money.',
    'call_3 Moves money.',
    'call_4 undefined',
    'call_5 Moves money.',
  ]);
  answers.get('call_5')?.({ type: 'edit', input: { n: 50 } });
  answers.get('call_4')?.({ type: 'reject', reason: 'No mail.' });
  answers.get('call_3')?.({ type: 'edit', input: { n: 30 } });
  answers.get('call_1')?.({ type: 'approve' });
  expect((await call).text).toBe('Done.');
  expect(ran.toSorted()).toEqual(['pay 1', 'pay 30', 'pay 50', 'read 2']);
  const outputs = model.requests[1]!.messages.flatMap(toolResultsOf);
  expect(outputs.map(({ toolUseId, state }) => `${toolUseId} ${state}`)).toEqual([
    'call_1 success',
    'call_2 success',
    'call_3 success',
    'call_4 denied',
    'call_5 success',
  ]);
  expect(orderFaults(events)).toEqual([]);
  expect(requestFaults(model.requests[1]!.messages)).toEqual([]);
});

test('`decide` is also asked about a tool with `needsApproval`', async () => {
  const ran: number[] = [];
  const own = tool({
    name: 'own',
    description: '',
    input,
    needsApproval: ({ n }) => n > 1,
    execute: ({ n }) => ran.push(n),
  });
  const decide = (): ApprovalDecision | undefined => ({ type: 'reject' });
  const { agent } = setUp({ decide }, [calls('own', 'own'), 'Done.'], { tools: [own] });
  expect((await agent.call('go')).text).toBe('Done.');
  expect(ran).toEqual([1]);
});

test('if `decide` returns nothing, the run suspends, and a call without input asks again', async () => {
  const decisions: (ApprovalDecision | undefined)[] = [undefined, undefined, { type: 'approve' }];
  let asks = 0;
  const hitl: ApprovalsOptions = {
    needsApproval: { pay: 'Moves money.', mail: true },
    decide: () => decisions[asks++],
  };
  const { agent, ran } = setUp(hitl, [calls('pay', 'mail'), 'Done.']);
  const { pending } = await agent.call('go');
  expect(pending).toEqual([
    { toolUseId: 'call_1', name: 'pay', input: { n: 1 }, kind: 'approval', reason: 'Moves money.' },
    { toolUseId: 'call_2', name: 'mail', input: { n: 2 }, kind: 'approval' },
  ]);
  expect((await agent.call([{ toolUseId: 'call_2', type: 'approve' }])).text).toBe('Done.');
  expect(ran.toSorted()).toEqual(['mail 2', 'pay 1']);
  expect(asks).toBe(3);
});

test('a timeout rejects the tool call and aborts the signal of `decide`', async () => {
  let signal: AbortSignal | undefined;
  const decide: ApprovalsOptions['decide'] = (_call, context) => {
    ({ signal } = context);
    return new Promise(() => {});
  };
  const { agent, ran } = setUp({ needsApproval: { pay: true }, decide, timeoutMs: 1 }, [
    calls('pay'),
    'Done.',
  ]);
  expect((await agent.call('go')).text).toBe('Done.');
  expect(ran).toEqual([]);
  expect(signal?.aborted).toBe(true);
  expect(await results(agent)).toEqual([
    'call_1 denied: Tool call rejected: nobody decided in time',
  ]);
});

test('an abort ends the wait for `decide`', async () => {
  const controller = new AbortController();
  const decide = (): Promise<ApprovalDecision | undefined> => {
    controller.abort();
    return new Promise(() => {});
  };
  const { agent, ran } = setUp({ needsApproval: { pay: true }, decide }, [calls('pay'), 'Hello.']);
  expect((await agent.call('go', { signal: controller.signal })).reason).toBe('aborted');
  expect(ran).toEqual([]);
  expect(historyFaults(await agent.messages())).toEqual([]);
  expect((await agent.call('again')).text).toBe('Hello.');
});

test.each([
  ['throws', () => Promise.reject(new Error('The page is gone.')), 'The page is gone.'],
  [
    'returns an unknown decision',
    () => ({ type: 'maybe' }) as unknown as ApprovalDecision | undefined,
    'type must be',
  ],
  [
    'returns an edit without input',
    () => ({ type: 'edit' }) as unknown as ApprovalDecision | undefined,
    'needs `input`',
  ],
])(
  'a `decide` that %s suspends the tool call, and `onError` gets the error',
  async (_name, decide, told) => {
    const errors: unknown[] = [];
    const { agent, ran } = setUp(
      { needsApproval: { pay: true }, decide, onError: (error) => void errors.push(error) },
      [calls('pay')],
    );
    const { pending } = await agent.call('go');
    expect(pending.map(({ kind }) => kind)).toEqual(['approval']);
    expect(ran).toEqual([]);
    expect(String(errors[0])).toContain(told);
  },
);

test('if the condition `when` throws, no tool runs', async () => {
  const when = (): boolean => {
    throw new Error('no rule');
  };
  const { agent, ran } = setUp({ needsApproval: { pay: { when } } }, [calls('pay'), 'Done.']);
  expect((await agent.call('go')).text).toBe('Done.');
  expect(ran).toEqual([]);
});

test('as the first middleware, approvals() asks only once about a tool call that is retried', async () => {
  let asks = 0;
  let tries = 0;
  const flaky = tool({
    name: 'flaky',
    description: '',
    input,
    execute: () => {
      if ((tries += 1) < 3) throw new Error('busy');
      return 'ok';
    },
  });
  const hitl = approvals({
    needsApproval: { flaky: true },
    decide: () => ((asks += 1), { type: 'approve' }),
  });
  const again = toolRetry({ isTransient: () => true, firstDelayMs: 0 });
  const { agent } = setUp({}, [calls('flaky'), 'Done.'], {
    tools: [flaky],
    use: [{ ...hitl, name: 'asking' }, again],
  });
  expect((await agent.call('go')).text).toBe('Done.');
  expect([asks, tries]).toEqual([1, 3]);
});

test('a stream with `decide` contains no suspended event', async () => {
  const { agent, ran } = setUp(
    { needsApproval: { pay: true }, decide: () => ({ type: 'approve' }) },
    [calls('pay'), 'Done.'],
  );
  const types: string[] = [];
  for await (const { type } of agent.stream('go')) types.push(type);
  expect(ran).toEqual(['pay 1']);
  expect(types).not.toContain('suspended');
  expect(types.filter((type) => /acting/.test(type))).toEqual(['pre-acting', 'post-acting']);
});

test('without `decide`, a stream emits the pending tool calls, and the decisions can be streamed too', async () => {
  const { agent, ran, events } = setUp({ needsApproval: { pay: 'Moves money.' } }, [
    calls('read', 'pay', 'pay'),
    'Done.',
  ]);
  const read = async (
    ...given: Parameters<ReActAgent['stream']>
  ): Promise<readonly AgentEvent[]> => {
    const seen: AgentEvent[] = [];
    for await (const event of agent.stream(...given)) seen.push(event);
    return seen;
  };
  const first = await read('go');
  const suspended = first.find(({ type }) => type === 'suspended') as Extract<
    AgentEvent,
    { type: 'suspended' }
  >;
  expect(suspended.pending.map(({ toolUseId, reason }) => [toolUseId, reason])).toEqual([
    ['call_2', 'Moves money.'],
    ['call_3', 'Moves money.'],
  ]);
  const second = await read([
    { toolUseId: 'call_3', type: 'approve' },
    { toolUseId: 'call_2', type: 'reject', reason: 'No.' },
  ]);
  expect(second[0]).toMatchObject({ type: 'run-start', resumes: first[0]!.runId });
  expect(second.at(-1)).toMatchObject({ type: 'run-end', result: { text: 'Done.' } });
  expect(ran).toEqual(['read 1', 'pay 3']);
  expect([orderFaults(first), orderFaults(second), events.length]).toEqual([
    [],
    [],
    first.length + second.length,
  ]);
});

test('the condition `when` gets the arguments and the tool call', async () => {
  const seen: unknown[] = [];
  const when = (value: unknown, call: ToolUse): boolean => Boolean(seen.push([value, call.id]));
  const { agent } = setUp({ needsApproval: { pay: { when } } }, [calls('pay')]);
  expect((await agent.call('go')).pending).toHaveLength(1);
  expect(seen).toEqual([[{ n: 1 }, 'call_1']]);
});

test.each([
  [{ needsApproval: 5 }],
  [{ needsApproval: { pay: 5 } }],
  [{ needsApproval: { pay: { when: true } } }],
  [{ decide: 'yes' }],
  [{ timeoutMs: -1 }],
  [null],
])('approvals() rejects the options %o', (options) => {
  expect(() => approvals(options as unknown as ApprovalsOptions)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('after an abort, a tool call whose `needsApproval` hangs counts as interrupted', async () => {
  const abort = new AbortController();
  const pay = tool({
    name: 'pay',
    description: '',
    input: z.object({}),
    needsApproval: () => {
      abort.abort();
      return new Promise<boolean>(() => {});
    },
    execute: () => 'paid',
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay' }] }]);
  const agent = new ReActAgent({ name: 'agent', model, tools: [pay] });
  const { reason } = await agent.call('Pay.', { signal: abort.signal });
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  expect([reason, result?.state]).toEqual(['aborted', 'interrupted']);
});
