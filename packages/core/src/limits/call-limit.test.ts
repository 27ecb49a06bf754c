import { expect, test } from 'vitest';
import type { AgentEvent } from '../event/agent-event.ts';
import { toolResultsOf } from '../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { orderFaults } from '@test/support/order-faults.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import type { AgentOptions } from '../react-agent/agent-options.ts';
import type { ReActAgent } from '../react-agent/react-agent.ts';
import { loadState, saveState } from '../state/agent-state.ts';
import { calls, scriptedAgent } from '@test/support/scripted-agent.ts';
import { approvals } from '../approval/approvals.ts';
import { modelRequestLimit } from './model-request-limit.ts';
import { toolCallLimit } from './tool-call-limit.ts';
import { structured } from '../output/structured.ts';
import type { Middleware } from '../agent/middleware.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';

const input = { type: 'object' } as const;
const ran: string[] = [];
const make = (name: string, needsApproval = false) =>
  tool({ name, description: name, input, needsApproval, execute: () => String(ran.push(name)) });
const tools = [make('add'), make('look'), make('ask', true)];
function setUp(
  replies: readonly ScriptedReply[],
  extensions: AgentOptions['use'],
  options: Partial<AgentOptions> = {},
) {
  ran.length = 0;
  return scriptedAgent(replies, {
    tools,
    ...options,
    use: [...(extensions ?? []), ...(options.use ?? [])],
  });
}

async function run(agent: ReActAgent, given: Parameters<ReActAgent['stream']>[0] = 'go') {
  const stream = agent.stream(given);
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  const result = await stream.result;
  expect(
    historyFaults(
      await agent.messages(),
      result.pending.map(({ toolUseId }) => toolUseId),
    ),
  ).toEqual([]);
  return result;
}

test('modelRequestLimit({ run }) ends the run before a request beyond the limit, and counts each run separately', async () => {
  const { agent, model } = setUp(
    [calls('add'), calls('add'), 'Done.'],
    [modelRequestLimit({ run: 2 })],
  );
  expect(await run(agent)).toMatchObject({
    reason: 'limit',
    text: 'The limit of model requests is reached: 2 of 2 used in this run.',
  });
  expect(model.requests).toHaveLength(2);
  expect(await run(agent)).toMatchObject({ reason: 'stop', text: 'Done.' });
});

test('an answer in the last allowed request ends the run normally', async () => {
  const { agent } = setUp([calls('add'), 'Done.'], [modelRequestLimit({ run: 2 })]);
  expect(await run(agent)).toMatchObject({ reason: 'stop' });
});

test('modelRequestLimit({ session }) counts across runs, also after a saved state is loaded', async () => {
  const limit = () => [modelRequestLimit({ session: 2, text: 'Come back tomorrow.' })];
  const first = setUp(['One.'], limit());
  await run(first.agent);
  const { agent, model } = setUp(['Two.', 'Three.'], limit());
  await loadState(agent, JSON.parse(JSON.stringify(await saveState(first.agent))));
  expect((await run(agent)).text).toBe('Two.');
  expect(await run(agent)).toMatchObject({ reason: 'limit', text: 'Come back tomorrow.' });
  expect(await run(agent)).toMatchObject({ reason: 'limit' });
  expect(model.requests).toHaveLength(1);
});

test('two limits of model requests count each request once', async () => {
  const session = { ...modelRequestLimit({ session: 3, atLimit: 'fail' }), name: 'sessionLimit' };
  const both = [modelRequestLimit({ run: 2 }), session];
  const { agent, model } = setUp([calls('add'), calls('add'), calls('add')], both);
  expect(await run(agent)).toMatchObject({ reason: 'limit' });
  // The request that the first limit prevented does not count, so one request is left.
  await expect(agent.call('again')).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
    details: { session: 3, run: 1 },
  });
  expect(model.requests).toHaveLength(3);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('a run that resumes after a suspension keeps its count', async () => {
  const { agent } = setUp([calls('ask'), calls('add'), 'Done.'], [modelRequestLimit({ run: 2 })]);
  expect((await run(agent)).reason).toBe('suspended');
  expect(await run(agent, [{ toolUseId: 'call_1', type: 'approve' }])).toMatchObject({
    reason: 'limit',
  });
  expect(ran).toEqual(['ask', 'add']);
});

test('if a reply exceeds the limit of tool calls, all its tool calls are closed, and none runs', async () => {
  const { agent, model } = setUp(
    [calls('add', 'look'), calls('add', 'add'), 'Done.'],
    [toolCallLimit({ session: 3 })],
  );
  expect(await run(agent)).toMatchObject({
    reason: 'limit',
    text: 'The limit of tool calls is reached: 2 of 3 used in this session, 2 more asked for.',
  });
  expect(ran).toEqual(['add', 'look']);
  expect(model.requests).toHaveLength(2);
  const closed = (await agent.messages()).flatMap(toolResultsOf).slice(2);
  const output =
    'It did not run. The limit of tool calls is reached: 2 of 3 used in this session, 2 more asked for.';
  expect(closed).toMatchObject([
    { state: 'interrupted', output },
    { state: 'interrupted', output },
  ]);
  expect((await run(agent)).text).toBe('Done.');
});

test('a tool call that is interrupted for another reason keeps the usual text', async () => {
  const { agent } = setUp([calls('add'), 'Done.'], [toolCallLimit({ session: 3 })]);
  agent.addHook({ on: { 'post-reasoning': ({ jumpTo }) => jumpTo('end', 'Enough.') } });
  await run(agent);
  const [closed] = (await agent.messages()).flatMap(toolResultsOf);
  expect(closed).toMatchObject({ state: 'interrupted', output: 'Interrupted before it ran.' });
});

test('exactly as many parallel tool calls as the limit allows run', async () => {
  const { agent } = setUp([calls('add', 'add', 'add'), 'Done.'], [toolCallLimit({ session: 3 })]);
  expect(await run(agent)).toMatchObject({ reason: 'stop' });
  expect(ran).toHaveLength(3);
});

test('toolCallLimit() limits the calls of one tool, beside a limit for all tools', async () => {
  const limits = [
    toolCallLimit({ tool: 'add', session: 1, atLimit: 'fail' }),
    toolCallLimit({ session: 9 }),
  ];
  const { agent } = setUp([calls('add', 'look', 'look'), calls('look'), calls('add')], limits);
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
    message: 'The limit of calls of "add" is reached: 1 of 1 used in this session.',
  });
  expect(ran).toEqual(['add', 'look', 'look', 'look']);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('a tool call that waited for its approval counts once', async () => {
  const { agent } = setUp([calls('ask'), calls('add'), 'Done.'], [toolCallLimit({ session: 2 })]);
  await run(agent);
  expect(await run(agent, [{ toolUseId: 'call_1', type: 'approve' }])).toMatchObject({
    reason: 'stop',
  });
});

test('a tool call counts when it runs, also if the limit is outside of approvals()', async () => {
  const use = [toolCallLimit({ session: 2 })];
  const { agent } = setUp([calls('ask', 'ask'), calls('add'), 'Done.'], []);
  const { pending } = await agent.call('go', { use });
  expect(pending).toHaveLength(2);
  const [first, second] = pending.map(({ toolUseId }) => toolUseId);
  const decisions = [
    { toolUseId: first!, type: 'approve' },
    { toolUseId: second!, type: 'reject' },
  ] as const;
  expect(await agent.call(decisions, { use })).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(ran).toEqual(['ask', 'add']);
});

test('a tool call that an approver rejects does not count, also if the limit is outside of approvals()', async () => {
  const use = [toolCallLimit({ session: 1 })];
  const decide = () => ({ type: 'reject' }) as const;
  const { agent } = setUp([calls('ask'), calls('add'), 'Done.'], [approvals({ decide })]);
  expect(await agent.call('go', { use })).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(ran).toEqual(['add']);
});

test('a tool call that an outer wrapper runs again counts once', async () => {
  const twice: Middleware = {
    wrapTool: async (call, next) => {
      await next(call);
      return next(call);
    },
  };
  const limited = [twice, toolCallLimit({ session: 2 })];
  const { agent } = setUp([calls('add'), calls('add'), 'Done.'], limited);
  expect((await run(agent)).text).toBe('Done.');
  expect(ran).toHaveLength(4);
});

test('the output tool of structured() does not count', async () => {
  const { agent } = setUp(
    [calls('add'), calls('generate_response')],
    [toolCallLimit({ session: 1 })],
  );
  expect(await agent.call('go', { output: structured(input) })).toMatchObject({
    reason: 'stop',
    output: {},
  });
});

test('agents that share a limit have separate counts', async () => {
  const limit = modelRequestLimit({ session: 1 });
  const [one, two] = [setUp(['A.'], [limit]).agent, setUp(['B.'], [limit]).agent];
  expect((await Promise.all([run(one), run(two)])).map(({ text }) => text)).toEqual(['A.', 'B.']);
});

test.for([
  {},
  { run: -1 },
  { run: 'two' },
  { session: 1, atLimit: 'stop' },
  { run: 1, message: 2 },
  undefined,
])('modelRequestLimit() and toolCallLimit() reject the options %j', (options) => {
  const code = expect.objectContaining({ code: 'CONFIGURATION' }) as Error;
  expect(() => modelRequestLimit(options as never)).toThrow(code);
  expect(() => toolCallLimit(options as never)).toThrow(code);
  expect(() => toolCallLimit({ run: 1, tool: 3 as never })).toThrow(code);
  expect(() => toolCallLimit({ run: 1 })).toThrow('limits.toolCalls');
});

test('a request that modelRequestLimit() refuses does not reach the middleware after it', async () => {
  let prepared = 0;
  const after: Middleware = {
    wrapRequest: (draft, next) => {
      prepared += 1;
      return next(draft);
    },
  };
  const { agent } = setUp([calls('add'), 'never'], [modelRequestLimit({ run: 1 }), after]);
  const result = await run(agent);
  expect(result).toMatchObject({ reason: 'limit', message: { metadata: { reason: 'limit' } } });
  expect([prepared, result.iterations]).toEqual([1, 1]);
});

test('a tool call that a person or a hook rejects does not count', async () => {
  const { agent } = setUp(
    [calls('ask', 'look'), calls('add'), 'Done.'],
    [toolCallLimit({ session: 2 })],
  );
  agent.addHook({
    on: {
      'pre-acting': ({ toolUse, reject }) => void (toolUse.name === 'look' && reject('No.')),
    },
  });
  expect((await run(agent)).reason).toBe('suspended');
  const rejected = await run(agent, [{ toolUseId: 'call_1', type: 'reject' }]);
  expect(rejected).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(ran).toEqual(['add']);
});

test('a tool that suspends its call counts once, and a later agent reads the count from the log', async () => {
  const wait = tool({
    name: 'wait',
    description: '',
    input,
    replay: 'safe',
    execute: (_input, { decision, suspend }) => (decision ? 'waited' : suspend('Wait.')),
  });
  const store = new MemoryStore();
  const options = () => ({ tools: [...tools, wait], memory: new SessionMemory(store, 's') });
  const limit = toolCallLimit({ session: 2 });
  const first = setUp([calls('wait')], [limit], options());
  const { pending } = await run(first.agent);
  const later = setUp([calls('add'), calls('add')], [limit], options());
  const { toolUseId } = pending[0]!;
  expect(await run(later.agent, [{ toolUseId, type: 'approve' }])).toMatchObject({
    reason: 'limit',
    text: 'The limit of tool calls is reached: 2 of 2 used in this session.',
  });
  expect(ran).toEqual(['add']);
});
