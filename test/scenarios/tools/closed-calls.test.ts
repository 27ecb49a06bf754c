import { expect, test } from 'vitest';
import {
  AgentError,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  toolResultsOf,
  type Middleware,
  type Run,
} from '@isoloop/core';
import { pendingCallsOf } from '@isoloop/core/host';
import { errorResult } from '@isoloop/core/tool';
import { ScriptedModel } from '@isoloop/core/testing';
import { historyFaults, requestFaults } from '../../support/history-faults.ts';
import { eventsOf } from '../../support/scripted-agent.ts';

/** Runs two calls of one reply. Returns what is stored and what happened. */
async function runTwoCalls(middleware: Middleware) {
  const started: string[] = [];
  const look = tool({
    name: 'look',
    description: '',
    input: {},
    execute(_input, { toolUseId }) {
      started.push(toolUseId);
      return 'seen';
    },
  });
  const toolCalls = [
    { name: 'look', id: 'one' },
    { name: 'look', id: 'two' },
  ];
  const model = new ScriptedModel([{ toolCalls }, 'Done.']);
  const store = new MemoryStore();
  const memory = new SessionMemory(store, 's');
  const agent = new ReActAgent({ name: 'a', model, tools: [look], memory, use: [middleware] });
  const events = await eventsOf(agent.stream('Go'));
  const stored = await new SessionMemory(store, 's').read();
  const ended = events.flatMap((event) => (event.type === 'post-acting' ? event.toolUse.id : []));
  const sent = model.requests.flatMap(({ messages }) => requestFaults(messages));
  const faults = [...historyFaults(stored), ...sent];
  return { agent, ended: ended.toSorted(), events, faults, started, stored };
}

/** Closes all open tool calls, with results that name who did it. */
async function closeAll(run: Run, who: string): Promise<void> {
  for (const { toolUse } of run.calls.open)
    await run.calls.close(toolUse, errorResult(toolUse, `closed by ${who}`));
}

/** Lets other code run between two steps. */
const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each<[who: string, closing: Middleware, started?: readonly string[]]>([
  [
    'both of its wrappers at the same time',
    {
      wrapTool: async (call, next, run) => {
        await closeAll(run, call.toolUse.id);
        return next(call);
      },
    },
    [],
  ],
  [
    'its wrapper after the tool, without waiting',
    {
      wrapTool: async (call, next, run) => {
        const outcome = await next(call);
        void closeAll(run, call.toolUse.id);
        return outcome;
      },
    },
    ['one', 'two'],
  ],
  [
    'its wrapper, without waiting, and with a slow hook',
    {
      on: { 'post-acting': aTurn },
      wrapTool: async (call, _next, run) => {
        void closeAll(run, call.toolUse.id);
        return errorResult(call.toolUse, 'closed by the outcome');
      },
    },
    [],
  ],
  [
    'a hook that gets a result of its own round',
    { on: { 'post-acting': (event, run) => closeAll(run, event.toolUse.id) } },
    ['one', 'two'],
  ],
  [
    'a hook before it starts',
    { on: { 'pre-acting': (event, run) => closeAll(run, event.toolUse.id) } },
    [],
  ],
  [
    'a wrapper of the round beside the tools',
    {
      wrapRound: async (round, next, run) => {
        const [outcome] = await Promise.all([next(round), closeAll(run, 'the round')]);
        return outcome;
      },
    },
  ],
])('a tool call gets one result if it is closed by %s', async (_who, closing, started) => {
  const { ended, faults, ...call } = await runTwoCalls(closing);
  expect(faults).toEqual([]);
  expect(ended).toEqual(['one', 'two']);
  if (started) expect(call.started).toEqual(started);
  expect(call.stored.map(textOf).at(-1)).toBe('Done.');
});

/** Ways to drop the tool calls of the last reply. */
const drops: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  'removes the reply': (run) => run.log.edit({ remove: repliesIn(run).map(({ id }) => id) }),
  'replaces the reply': (run) =>
    run.log.edit({
      replace: repliesIn(run).map((reply) => ({
        ...reply,
        content: [{ type: 'text', text: 'No.' }],
      })),
    }),
};

const repliesIn = (run: Run) => run.messages.filter(({ role }) => role === 'assistant');

type Drop = (run: Run) => Promise<void>;

/** Places in which a middleware drops the tool calls. */
const places: readonly [where: string, make: (drop: Drop) => Middleware][] = [
  [
    'wrapRound',
    (drop) => ({
      wrapRound: async (round, next, run) => {
        await drop(run);
        return next(round);
      },
    }),
  ],
  [
    'wrapTool',
    (drop) => ({
      wrapTool: async (call, next, run) => {
        await drop(run);
        return next(call);
      },
    }),
  ],
  ['a pre-acting hook', (drop) => ({ on: { 'pre-acting': (_event, run) => drop(run) } })],
  ['a post-acting hook', (drop) => ({ on: { 'post-acting': (_event, run) => drop(run) } })],
];

test.each(
  Object.keys(drops).flatMap((how) => places.map(([where, make]) => [where, how, make] as const)),
)('a tool call has no result if %s %s that made it', async (where, how, make) => {
  const { faults, started, stored } = await runTwoCalls(make(drops[how]!));
  expect(faults).toEqual([]);
  expect(stored.flatMap(toolResultsOf)).toEqual([]);
  expect(started).toEqual(where === 'a post-acting hook' ? ['one', 'two'] : []);
});

test('a waiting call whose reply was replaced waits for nobody, also in another process', async () => {
  const pay = tool({
    name: 'pay',
    description: '',
    input: {},
    execute: () => 'paid',
    needsApproval: true,
  });
  const store = new MemoryStore();
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', id: 'one' }] }, 'Done.']);
  const drop: Middleware = {
    on: { 'post-call': (_event, run) => drops['replaces the reply']!(run) },
  };
  const open = (use: readonly Middleware[]): ReActAgent =>
    new ReActAgent({ name: 'a', model, tools: [pay], memory: new SessionMemory(store, 's'), use });
  await open([drop]).call('Go');
  const second = open([]);
  expect(await pendingCallsOf(second)).toEqual([]);
  const decision = { type: 'approve', toolUseId: 'one' } as const;
  await expect(second.call([decision])).rejects.toSatisfy(
    (error) => AgentError.is(error) && error.code === 'INVALID_DECISION',
  );
  expect(await second.call('And now?')).toMatchObject({ text: 'Done.' });
});

test('an abort ends a run whose hook hangs at a result that nobody waits for', async () => {
  const look = tool({ name: 'look', description: '', input: {}, execute: () => 'seen' });
  const caller = new AbortController();
  const hanging: Middleware = {
    on: {
      'post-acting': () => {
        caller.abort();
        return new Promise<never>(() => {});
      },
    },
    wrapTool: async (call, _next, run) => {
      void run.calls.close(call.toolUse, errorResult(call.toolUse, 'closed'));
      return errorResult(call.toolUse, 'refused');
    },
  };
  const model = new ScriptedModel([{ toolCalls: [{ name: 'look' }] }]);
  const agent = new ReActAgent({ name: 'a', model, tools: [look], use: [hanging] });
  expect(await agent.call('Go', { signal: caller.signal })).toMatchObject({ reason: 'aborted' });
  expect(historyFaults(await agent.messages())).toEqual([]);
});
