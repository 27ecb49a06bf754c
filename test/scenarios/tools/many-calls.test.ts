import { expect, test, vi } from 'vitest';
import { extent } from '../../test-extent.ts';
import {
  type AgentOptions,
  ReActAgent,
  type AgentEvent,
  toolResultsOf,
  toolUsesOf,
  tool,
  type Middleware,
} from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { requestFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { toolCallLimit } from '@isoloop/core/limits';
import { scriptedAgent } from '../../support/scripted-agent.ts';

const setUp = (count: number, options: Partial<AgentOptions> = {}) => {
  let ran = 0;
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: { type: 'object' },
    execute: ({ n }: { n?: number }) => {
      ran += 1;
      return `result ${n}`;
    },
  } as never);
  const toolCalls = Array.from({ length: count }, (_, n) => ({ name: 'look', input: { n } }));
  const { agent, model } = scriptedAgent([{ toolCalls }, 'Done.'], { tools: [look], ...options });
  return { agent, model, ran: () => ran, look };
};

const refused = 'Error: A reply may have 128 tool calls. Make this call again later.';

test('the first 128 calls of a reply run, and the others get error results, all in order', async () => {
  const { agent, model, ran } = setUp(300);
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('Hi')) events.push(event);
  expect(ran()).toBe(128);
  expect(orderFaults(events)).toEqual([]);
  const results = model.requests[1]!.messages.flatMap(toolResultsOf);
  expect(results.map(({ toolUseId }) => toolUseId)).toEqual(
    Array.from({ length: 300 }, (_, n) => `call_${n + 1}`),
  );
  expect(results.map(({ output }) => output)).toEqual(
    Array.from({ length: 300 }, (_, n) => (n < 128 ? `result ${n}` : refused)),
  );
  expect(results.map(({ state }) => state).lastIndexOf('success')).toBe(127);
  expect(requestFaults(model.requests[1]!.messages)).toEqual([]);
});

test('`replyCalls` sets how many calls of a reply run', async () => {
  for (const [replyCalls, expected] of [
    [0, 0],
    [1, 1],
    [300, 300],
    [Infinity, 300],
  ] as const) {
    const { agent, ran } = setUp(300, { limits: { replyCalls } });
    expect((await agent.call('Hi')).text).toBe('Done.');
    expect(ran()).toBe(expected);
  }
  expect(() => setUp(1, { limits: { replyCalls: -1 } })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('many calls without a limit all run, and no signal gets many listeners', async () => {
  const count = extent({ quick: 400, full: 5_000 });
  const listened = vi.spyOn(AbortSignal.prototype, 'addEventListener');
  const { agent, ran } = setUp(count, { limits: { replyCalls: Infinity, timeoutMs: 60_000 } });
  expect((await agent.call('Hi')).text).toBe('Done.');
  expect(ran()).toBe(count);
  const counts = new Map<unknown, number>();
  for (const signal of listened.mock.contexts) counts.set(signal, (counts.get(signal) ?? 0) + 1);
  expect(Math.max(...counts.values())).toBeLessThan(20);
  listened.mockRestore();
});

test('a jump of a hook to the tools does not run calls beyond `replyCalls`', async () => {
  const { agent, ran } = setUp(5, { limits: { replyCalls: 2 } });
  agent.addHook({
    on: {
      'post-reasoning': ({ message, jumpTo }) => {
        if (toolUsesOf(message).length) jumpTo('tools');
      },
    },
  });
  expect((await agent.call('Hi')).text).toBe('Done.');
  expect(ran()).toBe(2);
});

test('calls beyond `replyCalls` do not count toward the limit of tool calls, and no middleware sees them', async () => {
  const rounds: number[] = [];
  const { agent, ran } = setUp(300, {
    limits: { toolCalls: 129 },
    use: [
      {
        wrapRound: (round, next) => {
          rounds.push(round.calls.length);
          return next(round);
        },
      },
    ],
  });
  expect((await agent.call('Hi')).reason).toBe('stop');
  expect(ran()).toBe(128);
  expect(rounds).toEqual([128]);
});

test('many calls without index and id each get a result, in the order of the calls', async () => {
  const count = extent({ quick: 1_000, full: 20_000 });
  const { look } = setUp(0);
  let asked = 0;
  const piece = (n: number): string =>
    `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ function: { name: 'look', arguments: `{"n":${n}}` } }] } }] })}\n\n`;
  const serve = async (): Promise<Response> => {
    asked += 1;
    const calls = Array.from({ length: count }, (_, n) => piece(n)).join('');
    const text = 'data: {"choices":[{"delta":{"content":"Done."}}]}\n\n';
    return new Response(`${asked === 1 ? calls : text}data: [DONE]\n\n`);
  };
  const model = openai({ model: 'm', fetch: serve });
  const agent = new ReActAgent({ name: 'a', model, tools: [look], limits: { timeoutMs: 60_000 } });
  expect((await agent.call('Hi')).text).toBe('Done.');
  const messages = await agent.messages();
  const results = messages.flatMap(toolResultsOf);
  const uses = messages.flatMap(toolUsesOf);
  expect(results).toHaveLength(count);
  expect(results.map(({ toolUseId }) => toolUseId)).toEqual(uses.map(({ id }) => id));
  expect(results[127]!.output).toBe('result 127');
  expect(results[128]!.output).toBe(refused);
});

test('the open calls are not read again for each call of a round', async () => {
  const readsOf = async (count: number): Promise<number> => {
    let reads: { readonly mock: { readonly calls: unknown[] } } | undefined;
    const counting: Middleware = {
      wrapRound: (round, next, run) => {
        reads = vi.spyOn(run.calls, 'open', 'get');
        return next(round);
      },
    };
    await setUp(count, { use: [counting, toolCallLimit({ session: 1000 })] }).agent.call('Hi');
    const { length } = reads!.mock.calls;
    vi.restoreAllMocks();
    return length;
  };
  expect(await readsOf(100)).toBe(await readsOf(2));
});
