import { agentscope } from '@isoloop/presets';
import { beforeEach, expect, test } from 'vitest';
import { Hang, lockedModel } from '../../support/hang.ts';
import {
  type AgentOptions,
  type CallOptions,
  ReActAgent,
  type AgentEvent,
  MemoryStore,
  SessionMemory,
  tool,
  type Tool,
  type Middleware,
} from '@isoloop/core';
import { spendCap } from '@isoloop/guards';
import { concurrencyLimit, Semaphore } from '@isoloop/core/limits';
import { replyCache } from '@isoloop/core/resilience';
import { longTermMemory } from '@isoloop/recall';
import { historyFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { ScriptedModel } from '@isoloop/core/testing';
import { bySimilarity, selectTools } from '@isoloop/core/selection';
import { approvals } from '@isoloop/core/approval';
import { look } from '../../support/plain-tools.ts';
import type { InnerStep } from '@isoloop/core/agent';
import { fakeClock, type FakeClock } from '../../clock/fake-clock.ts';

let clock: FakeClock;
beforeEach(() => void (clock = fakeClock()));

const timeoutMs = 60_000;

interface Case {
  readonly name: string;
  readonly options: (hang: Hang['wait'], hung: Hang) => Partial<AgentOptions>;
  readonly call?: CallOptions;
  /** Tools that the model’s first reply calls. */
  readonly calls?: readonly string[];
  /** Reason that the result has if it is not the abort’s or the timeout’s. */
  readonly stands?: string;
}

const on =
  (type: AgentEvent['type']): Case['options'] =>
  (hang) => ({
    use: [{ on: { [type]: () => hang() } }],
  });

const withTool = (changes: Partial<Tool>): { tools: readonly Tool[] } => ({
  tools: [{ ...look, ...changes } as Tool],
});
const adding =
  (part: (hang: Hang['wait']) => Middleware): Case['options'] =>
  (hang) => ({
    use: [part(hang)],
  });

const cases: readonly Case[] = [
  ...(['run-start', 'pre-call', 'pre-reasoning', 'reasoning-chunk', 'post-reasoning'] as const).map(
    (type): Case => ({ name: `a hook of ${type}`, options: on(type) }),
  ),
  ...(['pre-acting', 'acting-chunk', 'post-acting', 'tool-input-chunk'] as const).map(
    (type): Case => ({ name: `a hook of ${type}`, options: on(type), calls: ['look'] }),
  ),
  { name: 'a hook of post-call', options: on('post-call') },
  { name: 'a hook of run-end', options: on('run-end'), stands: 'stop' },
  {
    name: 'a hook of suspended',
    options: (hang) => ({
      ...withTool({ needsApproval: true }),
      use: [{ on: { suspended: () => hang() } }],
    }),
    calls: ['look'],
    stands: 'suspended',
  },
  ...(['pre-summary', 'summary-chunk', 'post-summary'] as const).map((type): Case => ({
    name: `a hook of ${type}`,
    options: (hang) => ({ ...on(type)(hang, undefined as never), limits: { iterations: 1 } }),
    calls: ['look'],
  })),
  { name: 'a hook of all events', options: adding((hang) => ({ on: { '*': () => hang() } })) },
  {
    name: 'a pre-call hook that only observes',
    options: (hang) => ({ use: [agentscope(), { on: { 'pre-call': () => hang() } }] }),
  },
  ...(['wrapInput', 'wrapSettle', 'wrapRequest', 'wrapReply'] as const).map((name): Case => ({
    name,
    options: adding((hang) => ({
      [name]: async (given: unknown, next: InnerStep<unknown, unknown>) => {
        await hang();
        return next(given);
      },
    })),
  })),
  {
    name: 'wrapRound',
    options: adding((hang) => ({
      wrapRound: async (round, next) => {
        await hang();
        return next(round);
      },
    })),
    calls: ['look'],
  },
  {
    name: 'a rule of approvals',
    options: adding((hang) => approvals({ needsApproval: { look: { when: () => hang() } } })),
    calls: ['look'],
  },
  {
    name: 'decide',
    options: (hang) => ({
      ...withTool({ needsApproval: true }),
      use: [approvals({ decide: () => hang() })],
    }),
    calls: ['look'],
  },
  {
    name: 'needsApproval of a tool',
    options: (hang) => withTool({ needsApproval: () => hang() }),
    calls: ['look'],
  },
  {
    name: 'a tool that ignores its signal',
    options: (hang) => withTool({ execute: () => hang() }),
    calls: ['look', 'look'],
  },
  {
    name: 'the schema of a tool',
    options: (hang) => withTool({ input: { ...look.input, validate: () => hang() } }),
    calls: ['look'],
  },
  {
    name: 'wrapRun before next',
    options: adding((hang) => ({
      wrapRun: async (input, next) => {
        await hang();
        return next(input);
      },
    })),
  },
  {
    name: 'wrapRun after next',
    options: adding((hang) => ({
      wrapRun: async (input, next) => {
        const result = await next(input);
        await hang();
        return result;
      },
    })),
  },
  {
    name: 'wrapTool before next',
    options: adding((hang) => ({
      wrapTool: async (call, next) => {
        await hang();
        return next(call);
      },
    })),
    calls: ['look'],
  },
  {
    name: 'wrapTool after next',
    options: adding((hang) => ({
      wrapTool: async (call, next) => {
        const result = await next(call);
        await hang();
        return result;
      },
    })),
    calls: ['look'],
  },
  {
    name: 'wrapModel',
    options: adding((hang) => ({
      wrapModel: (next) => ({
        ...next,
        features: next.features,
        async *stream(request, context) {
          await hang();
          yield* next.stream(request, context);
        },
      }),
    })),
  },
  {
    name: 'a model that ignores its signal and hangs when it is left',
    options: adding((hang) => ({
      wrapModel: (next) => ({
        ...next,
        features: next.features,
        stream: (request, context) =>
          request.messages.some(({ content }) => JSON.stringify(content).includes('again'))
            ? next.stream(request, context)
            : lockedModel(hang, () => new Promise(() => {}))(request, context),
      }),
    })),
  },
  {
    name: 'onLimit',
    options: (hang) => ({ onLimit: hang, limits: { iterations: 1 } }),
    calls: ['look'],
  },
  {
    name: 'a spend cap’s store',
    options: (hang) => ({
      use: [
        spendCap({
          limit: 100,
          key: () => 'ann',
          store: { add: async () => (await hang()) ?? { total: 1, resetAt: 0 } },
        }),
      ],
    }),
  },
  {
    name: 'the store of the response cache',
    options: (hang) => ({
      generate: { temperature: 0 },
      use: [replyCache({ store: { get: () => hang(), set: () => hang() } })],
    }),
  },
  {
    name: 'long-term memory',
    options: (hang) => ({
      use: [
        longTermMemory({
          memory: {
            retrieve: async () => (await hang()) ?? [],
            record: async () => {},
            delete: async () => {},
            deleteSession: async () => {},
            clear: async () => {},
          },
          timeoutMs: 1e9,
        }),
      ],
    }),
  },
  {
    name: 'an embedder that selects tools',
    options: (hang) => ({
      use: [
        selectTools({
          alwaysOffer: [],
          by: bySimilarity({ embed: () => hang(), evenWhenFew: true }),
          onError() {},
        }),
      ],
    }),
  },
];

const ends = ['an abort', 'a timeout'] as const;
const table = cases.flatMap((one) =>
  ends.flatMap((end) => (['resolves', 'rejects'] as const).map((late) => ({ ...one, end, late }))),
);

function setUp({ options, calls = [] }: Case, hang: Hang) {
  const semaphore = new Semaphore(1);
  const model = new ScriptedModel(
    Array.from({ length: 9 }, () => ({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user');
      if (JSON.stringify(asked).includes('again')) return 'next';
      if (messages.at(-1)?.role === 'tool' || !calls.length) return 'first';
      return { text: 'Look.', toolCalls: calls.map((name) => ({ name })) };
    }),
  );
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  const given = options(hang.wait, hang);
  const emitting = tool({
    name: 'look',
    description: '',
    input: {},
    execute: (_input, { emit }) => {
      emit('looking');
      return 'seen';
    },
  });
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools: [emitting],
    memory,
    ...given,
    limits: { timeoutMs, ...given.limits },
    use: [concurrencyLimit(semaphore), ...(given.use ?? [])],
  });
  return { agent, model, memory, semaphore };
}

test.for(table)(
  '$end ends a call that hangs in $name, and nothing changes when the hanging promise $late later',
  async (one) => {
    const hang = new Hang();
    const { agent, memory, semaphore } = setUp(one, hang);
    const controller = new AbortController();
    const events: AgentEvent[] = [];
    const stream = agent.stream('go', {
      ...one.call,
      signal: controller.signal,
      throwOnError: false,
    });
    const reading = (async () => {
      for await (const event of stream) events.push(event);
      return stream.result;
    })();
    await hang.reached;
    if (one.end === 'an abort') controller.abort();
    else await clock.advance(timeoutMs);
    hang.on = false;
    const result = await clock.advanceUntil(reading);
    const ended = one.end === 'an abort' ? 'aborted' : 'error';
    // A run that waits for somebody survives an abort, and a timeout makes it fail.
    const isFailed = one.stands === 'suspended' && one.end === 'a timeout';
    expect(result.reason).toBe(isFailed ? 'error' : (one.stands ?? ended));
    expect(result.error?.code).toBe(result.reason === 'error' ? 'CALL_TIMEOUT' : undefined);
    expect(orderFaults(events)).toEqual([]);
    expect(agent.busy).toBe(false);
    expect(semaphore.free).toBe(1);

    if (one.stands === 'suspended') {
      const [pending] = result.pending;
      await agent.call([{ toolUseId: pending!.toolUseId, type: 'reject' }]);
    }
    const log = await memory.records();
    expect(historyFaults(await agent.messages())).toEqual([]);
    hang.settleLate(one.late);
    await clock.advance(300);
    expect(await memory.records()).toEqual(log);
    expect(await agent.call('again')).toMatchObject({ reason: 'stop', text: 'next' });
    expect(historyFaults(await agent.messages())).toEqual([]);
  },
);
