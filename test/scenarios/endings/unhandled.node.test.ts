import { expect, test } from 'vitest';
import { calls, gate } from '../../support/scripted-agent.ts';
import { nextTask, unhandledIn } from '../../support/unhandled.ts';
import {
  AgentError,
  InMemoryMemory,
  MemoryStore,
  SessionMemory,
  ReActAgent,
  type AgentOptions,
  tool,
  type Middleware,
} from '@isoloop/core';
import { attach } from '@isoloop/core/event';
import { agentTool } from '@isoloop/core/several';
import { inputGuard } from '@isoloop/guards';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { withExecute } from '@isoloop/core/tool';
import { Agent, nestedWraps } from '@isoloop/core/agent';

const down = { error: new Error('down') };

/** Creates an agent. `ended` resolves after the given number of runs. */
function setUp(replies: readonly ScriptedReply[], options: Partial<AgentOptions> = {}) {
  const { wait: ended, open } = gate();
  let endCount = 0;
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel(replies),
    ...options,
    use: [
      ...((options.use ?? []) as readonly Middleware[]),
      { on: { 'run-end': () => void ((endCount += 1) === 1 && open()) } },
    ],
  });
  return { agent, ended };
}

/** A model's reply that fails once `fail` was called. `begun` resolves when it is asked. */
function failingReply() {
  const [begun, failing] = [gate(), gate()];
  const reply: ScriptedReply = () => {
    begun.open();
    return [{ text: 'half ' }, { wait: failing.wait }, down];
  };
  return { reply, begun: begun.wait, fail: failing.open };
}

/** Resolves when an agent has nothing more to do. */
async function whenIdle(agent: Agent): Promise<void> {
  while (agent.busy) await nextTask();
}

type Way = readonly [title: string, code: () => Promise<unknown>];

const callWays: readonly Way[] = [
  [
    'a call of the kernel fails',
    async () => {
      const agent = new Agent({ name: 'a', model: new ScriptedModel([down]) });
      void agent.call('go');
      await whenIdle(agent);
    },
  ],
  [
    'a call fails, and its events tell of it',
    async () => {
      const seen: string[] = [];
      const witness: Middleware = { on: { '*': ({ type }) => void seen.push(type) } };
      const { agent, ended } = setUp([down], { use: [witness] });
      void agent.call('go');
      await ended;
      await whenIdle(agent);
      expect(seen.slice(-2)).toEqual(['error', 'run-end']);
    },
  ],
  [
    'a call fails before the caller begins to wait for it',
    async () => {
      const { agent } = setUp([down]);
      const call = agent.call('go');
      await whenIdle(agent);
      await nextTask();
      await expect(call).rejects.toThrow('down');
    },
  ],
  ['the input of a call is invalid', async () => void setUp([]).agent.call(42 as never)],
  ['an option of a call is invalid', async () => void setUp([]).agent.call('go', 42 as never)],
  [
    'a busy agent refuses a call and messages',
    async () => {
      const { reply, begun, fail } = failingReply();
      const { agent } = setUp([reply]);
      void agent.call('go');
      await begun;
      void agent.call('again');
      void agent.observe('A fact.');
      await nextTask();
      fail();
      await whenIdle(agent);
    },
  ],
  ['messages are invalid', async () => void setUp([]).agent.observe(42 as never)],
  [
    'messages cannot be stored',
    async () => {
      const memory = new InMemoryMemory();
      memory.append = () => Promise.reject(new Error('full'));
      void setUp([], { memory }).agent.observe('A fact.');
    },
  ],
  [
    'calls that wait in line fail or are aborted',
    async () => {
      const { reply, begun, fail } = failingReply();
      const { agent } = setUp([reply, down], { whenBusy: 'queue' });
      const controller = new AbortController();
      void agent.call('go');
      await begun;
      void agent.call('second');
      void agent.call('third', { signal: controller.signal });
      void agent.observe('A fact.');
      controller.abort();
      await nextTask();
      fail();
      await whenIdle(agent);
    },
  ],
  [
    'the run that has taken a call fails',
    async () => {
      const { reply, begun, fail } = failingReply();
      const { agent } = setUp([reply], { whenBusy: 'inject' });
      void agent.call('go');
      await begun;
      void agent.call('and this');
      void agent.interrupt({ mode: 'inject', messages: 'and that' });
      await nextTask();
      fail();
      await whenIdle(agent);
    },
  ],
  [
    'a guard rejects the messages for a running call',
    async () => {
      const { reply, begun, fail } = failingReply();
      const guard = inputGuard('guard', (input) => {
        if (JSON.stringify(input).includes('bad')) throw new AgentError('GUARD_REJECTED', 'No.');
        return input;
      });
      const { agent } = setUp([reply], { whenBusy: 'inject', use: [guard] });
      void agent.call('go');
      await begun;
      void agent.call('bad one');
      void agent.interrupt({ mode: 'inject', messages: 'bad other' });
      await nextTask();
      fail();
      await whenIdle(agent);
    },
  ],
  [
    'an inbox admits a call whose input its wrapper rejects, and drops the promise',
    async () => {
      const { reply, begun, fail } = failingReply();
      const middleware: Middleware = {
        wrapInput: async (input, next) => {
          if (input.messages.some(({ content }) => JSON.stringify(content).includes('bad')))
            throw new Error('No.');
          return next(input);
        },
        wrapRun: (input, next, run) => {
          run.inbox.handle({
            join(call) {
              void call.admit();
              return undefined;
            },
          });
          return next(input);
        },
      };
      const { agent } = setUp([reply], { whenBusy: 'queue', use: [middleware] });
      void agent.call('go');
      await begun;
      void agent.call('bad');
      await nextTask();
      fail();
      await whenIdle(agent);
    },
  ],
  [
    'a call of an agent that runs as a tool fails',
    async () => {
      const { agent: child } = setUp([down]);
      const { agent } = setUp([calls('call_a'), down], {
        tools: [agentTool(child, { description: 'A child.' })],
      });
      void agent.call('go');
      await whenIdle(agent);
    },
  ],
];

/** Begins a stream whose run fails after the reader has left, as `leave` says. */
const left =
  (leave: (agent: ReActAgent, fail: () => void) => Promise<unknown>) => async (): Promise<void> => {
    const memory = new InMemoryMemory();
    const { reply, fail } = failingReply();
    const { agent } = setUp([reply], { memory });
    await leave(agent, () => {
      // A run that was aborted fails, too, if it cannot store its end.
      memory.append = () => Promise.reject(new Error('full'));
      fail();
    });
    fail();
    await whenIdle(agent);
  };

const streamWays: readonly Way[] = [
  ['nobody reads a detached run', left(async (agent) => agent.stream('go', { detached: true }))],
  [
    'nobody waits for the result of a stream',
    left(async (agent) => void agent.stream('go').result),
  ],
  [
    'a reader breaks its loop',
    left(async (agent, fail) => {
      for await (const { type } of agent.stream('go')) {
        if (type !== 'reasoning-chunk') continue;
        fail();
        break;
      }
    }),
  ],
  [
    'a reader throws in its loop',
    left(async (agent, fail) => {
      try {
        for await (const { type } of agent.stream('go')) {
          if (type !== 'reasoning-chunk') continue;
          fail();
          throw new Error('The reader fails.');
        }
      } catch {
        // The reader handles its own error.
      }
    }),
  ],
  [
    'a second reader of a paced stream is refused, and does not wait for its read',
    left(async (agent, fail) => {
      const stream = agent.stream('go');
      const first = stream[Symbol.asyncIterator]();
      await first.next();
      void stream[Symbol.asyncIterator]().next();
      void stream.batches().next();
      fail();
      void stream.cancel();
    }),
  ],
  [
    'a reader cancels the stream, and nobody waits for it',
    left(async (agent, fail) => {
      const stream = agent.stream('go');
      const reader = stream[Symbol.asyncIterator]();
      await reader.next();
      void reader.next();
      fail();
      void stream.cancel();
    }),
  ],
  ...(['events', 'batches'] as const).flatMap((kind): readonly Way[] => {
    const readerOf = (agent: ReActAgent): AsyncIterator<unknown, undefined> => {
      const stream = agent.stream('go');
      return kind === 'events' ? stream[Symbol.asyncIterator]() : stream.batches();
    };
    return [
      [
        `a reader of ${kind} leaves while it waits for the next one`,
        left(async (agent, fail) => {
          const reader = readerOf(agent);
          for (let turn = 0; turn < 20; turn += 1) void reader.next();
          await nextTask();
          void reader.return!();
          fail();
        }),
      ],
      [
        `a reader of ${kind} asks for the last one, and does not wait for it`,
        left(async (agent, fail) => {
          const reader = readerOf(agent);
          const read = async (): Promise<void> => {
            for (;;) {
              const next = reader.next();
              if (!agent.busy) return;
              await Promise.race([next.catch(() => {}), nextTask()]);
              fail();
            }
          };
          await read();
        }),
      ],
    ];
  }),
  [
    'a readable stream is canceled during a read',
    left(async (agent, fail) => {
      const reader = agent.stream('go').readable().getReader();
      await reader.read();
      void reader.read();
      void reader.cancel();
      fail();
    }),
  ],
  [
    'a reader releases a readable stream during a read',
    left(async (agent, fail) => {
      const stream = agent.stream('go');
      const reader = stream.readable().getReader();
      await reader.read();
      const read = reader.read().catch(() => {});
      reader.releaseLock();
      await read;
      fail();
      await nextTask();
      void stream.cancel();
    }),
  ],
  [
    'a later reader leaves a detached run',
    left(async (agent) => {
      agent.stream('go', { detached: true });
      await nextTask();
      for await (const { type } of attach(agent)!) if (type === 'reasoning-chunk') break;
      void attach(agent)!.result;
      void attach(agent)!.readable().cancel();
    }),
  ],
];

/** The wrappers of a run, each with the replies that make it run. */
const wrapperKeys = [
  'wrapRun',
  'wrapInput',
  'wrapSettle',
  'wrapRequest',
  'wrapReply',
  'wrapRound',
  'wrapTool',
] as const;

type AnyWrap = (input: never, next: (input: never) => Promise<unknown>) => Promise<unknown>;

/** A middleware that wraps one step twice: the inner wrapper fails while the outer one is busy. */
function failingStep(key: (typeof wrapperKeys)[number], outer: AnyWrap): Middleware {
  const fails: AnyWrap = () => Promise.reject(new Error('The inner wrapper fails.'));
  return { [key]: nestedWraps(outer as never, fails as never) };
}

/** Fails as `failingStep` does, in two middleware. */
function failingSteps(key: (typeof wrapperKeys)[number], outer: AnyWrap): readonly Middleware[] {
  const fails: AnyWrap = () => Promise.reject(new Error('The inner wrapper fails.'));
  return [{ [key]: outer }, { [key]: fails }];
}

const busyBefore: AnyWrap = async (input, next) => {
  const inner = next(input);
  await nextTask();
  await nextTask();
  return inner;
};
const busyBetween: AnyWrap = async (input, next) => {
  await nextTask();
  return busyBefore(input, next);
};
const drops: AnyWrap = async (input, next) => {
  void next(input);
  await nextTask();
  throw new Error('The outer wrapper fails.');
};
const twice: AnyWrap = async (input, next) => {
  void next(input);
  void next(input);
  await nextTask();
  return next(input);
};

const wrapperWays: readonly Way[] = wrapperKeys.flatMap((key) =>
  Object.entries({ busyBefore, busyBetween, drops, twice }).flatMap(([name, outer]) => {
    const lists = { one: [failingStep(key, outer)], two: failingSteps(key, outer) };
    return Object.entries(lists).map(([count, use]): Way => [
      `${key} of ${count} middleware: ${name}`,
      async () => {
        const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
        const { agent } = setUp([calls('look'), down], { use, tools: [look] });
        await agent.call('go').catch(() => {});
        await whenIdle(agent);
      },
    ]);
  }),
);

const middlewareWays: readonly Way[] = [
  [
    'middleware takes steps that fail, and does not wait for them',
    async () => {
      const memory = new InMemoryMemory();
      const middleware: Middleware = {
        wrapRequest: async (draft, next, run) => {
          memory.append = () => Promise.reject(new Error('full'));
          const message = run.createMessage('user', 'A hint.');
          void run.log.edit({ append: [message] });
          void run.inbox.admit({ messages: 42 } as never);
          void run.model.ask({ messages: [], tools: [] });
          void run.wait.for(Promise.reject(new Error('late')));
          void run.wait.untimed(() => Promise.reject(new Error('late')));
          void run.log.store();
          void run.log.load();
          await nextTask();
          return next(draft);
        },
      };
      const { agent } = setUp([down, down], { memory, use: [middleware] });
      await agent.call('go').catch(() => {});
    },
  ],
  [
    'middleware takes steps after the end of the run',
    async () => {
      let late = (): void => {};
      const middleware: Middleware = {
        wrapSettle: (input, next, run) => {
          late = () => {
            void run.log.edit({});
            void run.wait.for(1);
            void run.wait.untimed(async () => {});
            void run.log.load();
            void run.log.store();
          };
          return next(input);
        },
      };
      const { agent } = setUp(['one'], { use: [middleware] });
      await agent.call('go');
      late();
    },
  ],
  [
    'a function around a tool starts the tool, and does not wait for it',
    async () => {
      const middleware: Middleware = {
        wrapTool: (call, next) =>
          next(
            withExecute(call, async (execute, ...args) => {
              void execute(...args);
              await nextTask();
              throw new Error('The function fails.');
            }),
          ),
      };
      const execute = (): Promise<never> => Promise.reject(new Error('The tool fails.'));
      const look = tool({ name: 'look', description: '', input: {}, execute });
      const { agent } = setUp([calls('look'), 'one'], { use: [middleware], tools: [look] });
      await agent.call('go');
    },
  ],
];

/** A promise that rejects after the run: `settle` makes it reject. */
function lateFailure() {
  const [begun, ending] = [gate(), gate()];
  const fail = async (): Promise<never> => {
    begun.open();
    await ending.wait;
    throw new Error('late');
  };
  return { fail, begun: begun.wait, settle: ending.open };
}

/** Aborts a run while it waits for something, which then fails. */
const late =
  (setUpAgent: (fail: () => Promise<never>) => ReActAgent) => async (): Promise<void> => {
    const { fail, begun, settle } = lateFailure();
    const agent = setUpAgent(fail);
    const controller = new AbortController();
    const call = agent.call('go', { signal: controller.signal });
    await begun;
    controller.abort();
    await call.catch(() => {});
    settle();
    await nextTask();
    await whenIdle(agent);
  };

const lateWays: readonly Way[] = [
  [
    'a hook fails after an abort',
    late((fail) => setUp(['one'], { use: [{ on: { 'pre-call': fail } }] }).agent),
  ],
  [
    'a hook that only observes fails after an abort',
    late((fail) => setUp(['one'], { use: [{ on: { '*': fail } }] }).agent),
  ],
  [
    'a wrapper fails after an abort',
    late((fail) => setUp(['one'], { use: [{ wrapReply: fail }] }).agent),
  ],
  [
    'a tool fails after an abort',
    late((fail) => {
      const look = tool({ name: 'look', description: '', input: {}, execute: fail });
      return setUp([calls('look'), 'one'], { tools: [look] }).agent;
    }),
  ],
  [
    'a tool fails after its time limit',
    async () => {
      const { fail, settle } = lateFailure();
      const slow = { name: 'look', description: '', input: {}, execute: fail, timeoutMs: 1 };
      const { agent } = setUp([calls('look'), 'one'], { tools: [tool(slow)] });
      await agent.call('go');
      settle();
    },
  ],
  [
    'a model fails after an abort',
    late((fail) => {
      async function* stream(): AsyncGenerator<never[]> {
        yield await fail();
      }
      const model = { provider: 'p', modelId: 'm', features: { tools: true, media: [] }, stream };
      return setUp([], { model }).agent;
    }),
  ],
  ...(['read', 'append', 'flush', 'restore', 'note'] as const).map((method): Way => [
    `${method}() of a memory fails after an abort`,
    late((fail) => {
      const memory = new SessionMemory(new MemoryStore(), 's');
      memory[method] = fail as never;
      return setUp(['one'], { memory }).agent;
    }),
  ]),
  ...(['get', 'set', 'setMany', 'getMany'] as const).map((method): Way => [
    `${method}() of a store fails, and nobody waits for the call`,
    async () => {
      const store = new MemoryStore();
      store[method] = (() => Promise.reject(new Error('full'))) as never;
      const { agent } = setUp(['one'], { memory: new SessionMemory(store, 's') });
      void agent.call('go');
      await whenIdle(agent);
    },
  ]),
];

test.for([...callWays, ...streamWays, ...wrapperWays, ...middlewareWays, ...lateWays])(
  'no rejection is unhandled: %s',
  async ([, code]) => {
    expect(await unhandledIn(code)).toEqual([]);
  },
);
