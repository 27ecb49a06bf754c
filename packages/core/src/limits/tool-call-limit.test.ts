import { expect, test } from 'vitest';
import { toolResultsOf } from '../message/msg.ts';
import { historyFaults } from '@test/support/history-faults.ts';
import { tool } from '../tool/tool.ts';
import { calls } from '@test/support/scripted-agent.ts';
import { approvals } from '../approval/approvals.ts';
import { toolCallLimit } from './tool-call-limit.ts';
import { structured } from '../output/structured.ts';
import type { Middleware } from '../agent/middleware.ts';
import { MemoryStore } from '../memory/store/memory-store.ts';
import { SessionMemory } from '../memory/session-memory.ts';
import {
  input,
  ranTools,
  limitedTools,
  limitedAgent,
  checkedRun,
} from '@test/support/limited-agent.ts';

test('if a reply exceeds the limit of tool calls, all its tool calls are closed, and none runs', async () => {
  const { agent, model } = limitedAgent(
    [calls('add', 'look'), calls('add', 'add'), 'Done.'],
    [toolCallLimit({ session: 3 })],
  );
  expect(await checkedRun(agent)).toMatchObject({
    reason: 'limit',
    text: 'The limit of tool calls is reached: 2 of 3 used in this session, 2 more asked for.',
  });
  expect(ranTools).toEqual(['add', 'look']);
  expect(model.requests).toHaveLength(2);
  const closed = (await agent.messages()).flatMap(toolResultsOf).slice(2);
  const output =
    'It did not run. The limit of tool calls is reached: 2 of 3 used in this session, 2 more asked for.';
  expect(closed).toMatchObject([
    { state: 'interrupted', output },
    { state: 'interrupted', output },
  ]);
  expect((await checkedRun(agent)).text).toBe('Done.');
});

test('a tool call that is interrupted for another reason keeps the usual text', async () => {
  const { agent } = limitedAgent([calls('add'), 'Done.'], [toolCallLimit({ session: 3 })]);
  agent.addHook({ on: { 'post-reasoning': ({ jumpTo }) => jumpTo('end', 'Enough.') } });
  await checkedRun(agent);
  const [closed] = (await agent.messages()).flatMap(toolResultsOf);
  expect(closed).toMatchObject({ state: 'interrupted', output: 'Interrupted before it ran.' });
});

test('exactly as many parallel tool calls as the limit allows run', async () => {
  const { agent } = limitedAgent(
    [calls('add', 'add', 'add'), 'Done.'],
    [toolCallLimit({ session: 3 })],
  );
  expect(await checkedRun(agent)).toMatchObject({ reason: 'stop' });
  expect(ranTools).toHaveLength(3);
});

test('toolCallLimit() limits the calls of one tool, beside a limit for all tools', async () => {
  const limits = [
    toolCallLimit({ tool: 'add', session: 1, atLimit: 'fail' }),
    toolCallLimit({ session: 9 }),
  ];
  const { agent } = limitedAgent(
    [calls('add', 'look', 'look'), calls('look'), calls('add')],
    limits,
  );
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'LIMIT_EXCEEDED',
    message: 'The limit of calls of "add" is reached: 1 of 1 used in this session.',
  });
  expect(ranTools).toEqual(['add', 'look', 'look', 'look']);
  expect(historyFaults(await agent.messages())).toEqual([]);
});

test('a tool call that waited for its approval counts once', async () => {
  const { agent } = limitedAgent(
    [calls('ask'), calls('add'), 'Done.'],
    [toolCallLimit({ session: 2 })],
  );
  await checkedRun(agent);
  expect(await checkedRun(agent, [{ toolUseId: 'call_1', type: 'approve' }])).toMatchObject({
    reason: 'stop',
  });
});

test('a tool call counts when it runs, also if the limit is outside of approvals()', async () => {
  const use = [toolCallLimit({ session: 2 })];
  const { agent } = limitedAgent([calls('ask', 'ask'), calls('add'), 'Done.'], []);
  const { pending } = await agent.call('go', { use });
  expect(pending).toHaveLength(2);
  const [first, second] = pending.map(({ toolUseId }) => toolUseId);
  const decisions = [
    { toolUseId: first!, type: 'approve' },
    { toolUseId: second!, type: 'reject' },
  ] as const;
  expect(await agent.call(decisions, { use })).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(ranTools).toEqual(['ask', 'add']);
});

test('a tool call that an approver rejects does not count, also if the limit is outside of approvals()', async () => {
  const use = [toolCallLimit({ session: 1 })];
  const decide = () => ({ type: 'reject' }) as const;
  const { agent } = limitedAgent([calls('ask'), calls('add'), 'Done.'], [approvals({ decide })]);
  expect(await agent.call('go', { use })).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(ranTools).toEqual(['add']);
});

test('a tool call that an outer wrapper runs again counts once', async () => {
  const twice: Middleware = {
    wrapTool: async (call, next) => {
      await next(call);
      return next(call);
    },
  };
  const limited = [twice, toolCallLimit({ session: 2 })];
  const { agent } = limitedAgent([calls('add'), calls('add'), 'Done.'], limited);
  expect((await checkedRun(agent)).text).toBe('Done.');
  expect(ranTools).toHaveLength(4);
});

test('the output tool of structured() does not count', async () => {
  const { agent } = limitedAgent(
    [calls('add'), calls('generate_response')],
    [toolCallLimit({ session: 1 })],
  );
  expect(await agent.call('go', { output: structured(input) })).toMatchObject({
    reason: 'stop',
    output: {},
  });
});

test('a tool call that a person or a hook rejects does not count', async () => {
  const { agent } = limitedAgent(
    [calls('ask', 'look'), calls('add'), 'Done.'],
    [toolCallLimit({ session: 2 })],
  );
  agent.addHook({
    on: {
      'pre-acting': ({ toolUse, reject }) => void (toolUse.name === 'look' && reject('No.')),
    },
  });
  expect((await checkedRun(agent)).reason).toBe('suspended');
  const rejected = await checkedRun(agent, [{ toolUseId: 'call_1', type: 'reject' }]);
  expect(rejected).toMatchObject({ reason: 'stop', text: 'Done.' });
  expect(ranTools).toEqual(['add']);
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
  const options = () => ({ tools: [...limitedTools, wait], memory: new SessionMemory(store, 's') });
  const limit = toolCallLimit({ session: 2 });
  const first = limitedAgent([calls('wait')], [limit], options());
  const { pending } = await checkedRun(first.agent);
  const later = limitedAgent([calls('add'), calls('add')], [limit], options());
  const { toolUseId } = pending[0]!;
  expect(await checkedRun(later.agent, [{ toolUseId, type: 'approve' }])).toMatchObject({
    reason: 'limit',
    text: 'The limit of tool calls is reached: 2 of 2 used in this session.',
  });
  expect(ranTools).toEqual(['add']);
});
