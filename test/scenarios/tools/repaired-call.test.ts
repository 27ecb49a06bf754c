import { expect, test } from 'vitest';
import * as z from 'zod';
import {
  ReActAgent,
  type EventOf,
  outputText,
  toolResultsOf,
  tool,
  type AgentOptions,
  type Middleware,
} from '@isoloop/core';
import { toolCallLimit } from '@isoloop/core/limits';
import { historyFaults } from '../../support/history-faults.ts';
import { orderFaults } from '../../support/order-faults.ts';
import { ScriptedModel, type ScriptedToolCall } from '@isoloop/core/testing';
import { Toolkit } from '@isoloop/core/tool';
import { scriptedAgent } from '../../support/scripted-agent.ts';

type Acting = EventOf<'pre-acting'>;

const ran: unknown[] = [];
const search = tool({
  name: 'search',
  description: '',
  input: z.object({ query: z.string(), limit: z.number().optional() }),
  execute: (input) => {
    ran.push(input);
    return `found ${input.query}`;
  },
});

const onActing = (handle: (event: Acting) => Acting | void): Middleware => ({
  on: { 'pre-acting': handle },
});

async function run(call: ScriptedToolCall, options: Partial<AgentOptions> = {}) {
  ran.length = 0;
  const { agent } = scriptedAgent([{ toolCalls: [call] }, 'done'], { tools: [search], ...options });
  const stream = agent.stream('go');
  const events = [];
  for await (const event of stream) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  expect(historyFaults(await agent.messages())).toEqual([]);
  const acting = events.filter((event) => event.type === 'pre-acting');
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  return { acting, result: result!, text: outputText(result!.output), ended: await stream.result };
}

test.for([
  ['names no tool', { name: 'serach', input: { query: 'x' } }, /^Tool not found: serach\. Avail/],
  ['has no name', { name: '', input: { query: 'x' } }, /^Tool not found/],
  [
    'does not fit its schema',
    { name: 'search', input: { q: 'x' } },
    /do not fit its schema:\n- query/,
  ],
  ['is not JSON', { name: 'search', input: '{"query": ' }, /not valid JSON/],
] as const)(
  'a pre-acting hook gets a tool call that %s, and can repair the tool call',
  async ([, call, problem]) => {
    const seen: Acting[] = [];
    const alone = await run(call, { use: [onActing((event) => void seen.push(event))] });
    expect(seen.map((event) => event.problem)).toEqual([expect.stringMatching(problem)]);
    expect(alone.acting.map((event) => event.problem)).toEqual([expect.stringMatching(problem)]);
    expect(alone.result).toMatchObject({ state: 'error' });
    expect(alone.text).toBe(`Error: ${seen[0]!.problem}`);
    expect(alone.ended.toolsUsed).toEqual([]);
    expect(ran).toEqual([]);

    const toolUse = { name: 'search', input: { query: 'y' } };
    const repair = onActing((event) => ({ ...event, toolUse: { ...event.toolUse, ...toolUse } }));
    const repaired = await run(call, { use: [repair, onActing((event) => void seen.push(event))] });
    expect(repaired.result).toMatchObject({ state: 'success', output: 'found y' });
    expect(seen[1]).not.toHaveProperty('problem');
    expect(repaired.acting).toMatchObject([{ toolUse }]);
    expect(repaired.acting[0]).not.toHaveProperty('problem');
    expect(repaired.ended.toolsUsed).toEqual(['search']);
  },
);

test('a valid tool call has no problem, and a hook that makes it invalid causes a problem for the next hook', async () => {
  const seen: (string | undefined)[] = [];
  const note = onActing((event) => void seen.push(event.problem));
  const spoil = onActing((event) => ({ ...event, toolUse: { ...event.toolUse, name: 'other' } }));
  const { acting, text } = await run(
    { name: 'search', input: { query: 'x' } },
    { use: [note, spoil, note] },
  );
  expect(seen).toEqual([undefined, expect.stringContaining('Tool not found: other')]);
  expect(acting[0]!.problem).toBe(seen[1]);
  expect(text).toBe(`Error: ${seen[1]}`);
});

test('removing the problem from the event does not repair the tool call', async () => {
  const hide = onActing(({ problem: _problem, ...event }) => event);
  const { text } = await run({ name: 'none' }, { use: [hide] });
  expect(text).toContain('Tool not found: none');
});

test('a hook can reject a tool call that cannot run', async () => {
  const refuse: Middleware = {
    on: { 'pre-acting': (event) => void (event.problem && event.reject('Use search.')) },
  };
  const { result } = await run({ name: 'none' }, { use: [refuse] });
  expect(result).toMatchObject({ state: 'denied', output: 'Tool call rejected: Use search.' });
});

test('the event also reports a problem if the tool is inactive or not in `allowTools`', async () => {
  const off = tool({ name: 'off', description: '', input: {}, group: 'g', execute: () => 'ran' });
  const tools = new Toolkit([off], { groups: [{ name: 'g', description: '', active: false }] });
  const { acting } = await run({ name: 'off' }, { tools });
  expect(acting[0]!.problem).toContain('Tool not available: off');
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'search', input: {} }] }, 'done'], {
    tools: [search],
  });
  const stream = agent.stream('go', { allowTools: [] });
  const problems: unknown[] = [];
  for await (const event of stream) if (event.type === 'pre-acting') problems.push(event.problem);
  expect(problems).toEqual(['Tool not allowed: search.']);
});

test('a repaired tool call that needs approval waits and then runs with the repair', async () => {
  ran.length = 0;
  const model = new ScriptedModel([{ toolCalls: [{ name: 'serach' }] }, 'done']);
  const repair = onActing((event) => ({
    ...event,
    toolUse: { ...event.toolUse, name: 'search', input: { query: 'z' } },
  }));
  const tools = [{ ...search, needsApproval: true }];
  const agent = new ReActAgent({ name: 'a', model, tools, use: [repair] });
  const { pending } = await agent.call('go');
  expect(pending).toMatchObject([{ name: 'search', input: { query: 'z' }, kind: 'approval' }]);
  const done = await agent.call([{ type: 'approve', toolUseId: pending[0]!.toolUseId }]);
  expect(done.text).toBe('done');
  expect(ran).toEqual([{ query: 'z' }]);
});

test('a tool call that stays invalid does not count toward the limit of toolCallLimit()', async () => {
  const use = [toolCallLimit({ tool: 'search', session: 1 })];
  const { agent } = scriptedAgent(
    [
      { toolCalls: [{ name: 'search', input: {} }] },
      { toolCalls: [{ name: 'search', input: { query: 'x' } }] },
      'done',
    ],
    { tools: [search], use },
  );
  expect((await agent.call('go')).text).toBe('done');
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ state }) => state)).toEqual([
    'error',
    'success',
  ]);
});

test('a repaired tool call counts toward `limits.toolCalls`', async () => {
  const repair = onActing((event) => ({
    ...event,
    toolUse: { ...event.toolUse, name: 'search', input: { query: 'x' } },
  }));
  ran.length = 0;
  const toolCalls = [{ name: 'one' }, { name: 'two' }];
  const { agent } = scriptedAgent([{ toolCalls }, 'done'], {
    tools: [search],
    use: [repair],
    limits: { toolCalls: 1 },
  });
  expect((await agent.call('go')).reason).toBe('limit');
  expect(ran).toHaveLength(1);
});
