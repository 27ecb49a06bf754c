import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region tools
import { AgentError, ReActAgent, tool, toolResultsOf, type Msg } from '@isoloop/core';
import { contextToken, provide } from '@isoloop/core/tool';
import * as z from 'zod';
// #endregion

const outputsOf = (messages: readonly Msg[]): unknown[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => output);

test('tools read values from the context and emit progress', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'list_orders', input: { status: 'open' } }] },
    'Tea.',
    { toolCalls: [{ name: 'list_orders', input: { status: 'sent' } }] },
    'Cups.',
  ]);
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const asked: string[] = [];
  const shopOf = (user: string) => ({
    orders: async (status: string, { signal }: { signal: AbortSignal }) => {
      asked.push(`${user} ${status} ${signal.aborted}`);
      return ['tea'];
    },
  });
  const [annsShop, bobsShop] = [shopOf('Ann'), shopOf('Bob')];

  // #region tools
  interface Shop {
    orders(status: string, options: { signal: AbortSignal }): Promise<readonly string[]>;
  }
  const shopToken = contextToken<Shop>('shop');

  const listOrders = tool({
    name: 'list_orders',
    description: "Lists the user's orders",
    input: z.object({ status: z.enum(['open', 'sent']) }),
    timeoutMs: 10_000, // default 5 minutes
    async execute({ status }, ctx) {
      ctx.emit(`looking for what is ${status}`); // an acting-chunk event, hidden from the model
      return ctx.get(shopToken).orders(status, { signal: ctx.signal }); // the model gets a string unchanged, other values as JSON
    },
  });

  const agent = new ReActAgent({
    name: 'clerk',
    model,
    tools: [listOrders],
    toolContext: [provide(shopToken, annsShop)],
  });
  for await (const event of agent.stream('What is open?')) {
    if (event.type === 'acting-chunk') console.log(event.chunk);
  }
  await agent.call('What is sent to Bob?', {
    toolContext: [provide(shopToken, bobsShop)],
    allowTools: ['list_orders'],
  });
  // #endregion

  expect(log.mock.calls).toEqual([['looking for what is open']]);
  expect(asked).toEqual(['Ann open false', 'Bob sent false']);
  expect(outputsOf(await agent.messages())).toEqual(['["tea"]', '["tea"]']);
  expect(model.requests[2]?.tools.map(({ name }) => name)).toEqual(['list_orders']);
});

test('errors of tools become tool results, except TOOL_ERROR, which ends the agent call', async () => {
  const calls = (...inputs: (object | string)[]) => ({
    toolCalls: inputs.map((input) => ({ name: 'pay', input: input as {} })),
  });
  const model = new ScriptedModel([
    {
      toolCalls: [
        ...calls({ amount: -1 }, '{"amount":', { amount: 2_000 }).toolCalls,
        { name: 'fly' },
        { name: 'wait' },
      ],
    },
    'Sorry.',
    { toolCalls: [{ name: 'watch' }, { name: 'pay', input: { amount: 5 } }] },
    'Closed, I hear.',
  ]);
  let stopped = false;
  const watch = tool({
    name: 'watch',
    description: 'Watches until it is stopped',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve((stopped = true)))),
  });
  const wait = tool({
    name: 'wait',
    description: 'Waits',
    input: z.object({}),
    timeoutMs: 1,
    execute: () => new Promise<string>(() => {}),
  });

  // #region tool-errors
  const pay = tool({
    name: 'pay',
    description: 'Pays an invoice',
    input: z.object({ amount: z.number().positive() }),
    execute({ amount }) {
      if (amount > 1000) throw new Error('Over the limit of 1000.'); // an error result: the model reads it and continues
      throw new AgentError('TOOL_ERROR', 'The account is closed.'); // fatal: ends the agent's call and stops the other tools
    },
  });
  // #endregion

  const agent = new ReActAgent({ name: 'clerk', model, tools: [pay, watch, wait] });
  await agent.call('Pay.');
  expect(outputsOf(await agent.messages()).map((output) => String(output).split('\n')[0])).toEqual([
    'Error: The arguments of "pay" do not fit its schema:',
    'Error: The arguments of "pay" do not fit its schema:',
    'Error: Over the limit of 1000.',
    'Error: Tool not found: fly. Available: pay, watch, wait.',
    'Error: Tool "wait" timed out after 1 ms',
  ]);
  await expect(agent.call('Pay 5.')).rejects.toMatchObject({
    code: 'TOOL_ERROR',
    message: 'The account is closed.',
  });
  expect(stopped).toBe(true);
  expect((await agent.call()).text).toBe('Closed, I hear.');
});

test('tools can return media, use plain JSON Schema, and run one at a time if limited', async () => {
  const model = new ScriptedModel([
    {
      toolCalls: [
        { name: 'draw', input: { what: 'tea' } },
        { name: 'draw', input: { what: 'cup' } },
      ],
    },
    'Done.',
  ]);
  let [running, most] = [0, 0];
  const draw = async (what: unknown): Promise<string> => {
    most = Math.max(most, (running += 1));
    await Promise.resolve();
    running -= 1;
    return btoa(String(what));
  };

  // #region tool-results
  const drawing = tool({
    name: 'draw',
    description: 'Draws a picture',
    input: { type: 'object', properties: { what: { type: 'string' } } }, // sent to the model, not validated; see jsonSchema() below
    async execute(input) {
      const { what } = input as { what?: unknown };
      return {
        content: [
          { type: 'text', text: `Here is ${String(what)}:` },
          {
            type: 'image',
            source: { type: 'base64', mediaType: 'image/png', data: await draw(what) },
          },
        ],
      };
    },
  });
  const artist = new ReActAgent({
    name: 'artist',
    model,
    tools: [drawing],
    limits: { parallelTools: 1 },
  });
  // #endregion

  await artist.call('Draw.');
  expect(most).toBe(1);
  expect(outputsOf(await artist.messages())[0]).toMatchObject([
    { text: 'Here is tea:' },
    { source: { data: 'dGVh' } },
  ]);
});
