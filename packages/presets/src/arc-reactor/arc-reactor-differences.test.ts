import { expect, test, vi } from 'vitest';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { pay } from '@test/support/plain-tools.ts';
import { ReActAgent, toolResultsOf } from '@isoloop/core';
import type { Hook } from '@isoloop/core/event';
import { approvals } from '@isoloop/core/approval';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { arcReactor } from './arc-reactor.ts';

const pays = (count: number): ScriptedReply[] =>
  Array.from({ length: count }, () => ({ toolCalls: [{ name: 'pay' }] }));

test('with arcReactor(), a call that continues a suspended call counts tool calls from zero', async () => {
  const model = new ScriptedModel([...pays(3), 'done']);
  const limits = { toolCalls: 1 };
  const agent = new ReActAgent({ name: 'a', model, tools: [pay], use: [arcReactor()], limits });
  let result = await agent.call('go');
  for (let n = 0; n < 3; n++) {
    const [{ toolUseId } = { toolUseId: '' }] = result.pending;
    result = await agent.call([{ type: 'approve', toolUseId }]);
  }
  expect(result).toMatchObject({ reason: 'stop', text: 'done' });
  expect((await agent.messages()).flatMap(toolResultsOf)).toHaveLength(3);
});

test('tool calls that are approved within one run count toward the same limit', async () => {
  const model = new ScriptedModel([...pays(2), 'done']);
  const approve = approvals({ decide: () => ({ type: 'approve' }) });
  const limits = { toolCalls: 2 };
  const use = [arcReactor(), approve];
  const agent = new ReActAgent({ name: 'a', model, tools: [pay], use, limits });
  expect(await agent.call('go')).toMatchObject({ reason: 'limit', text: 'done' });
  expect(model.requests.map(({ tools }) => tools.length)).toEqual([1, 1, 0]);
});

test('with arcReactor(), a hook that fails is ignored without a warning', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const fails = vi.fn(() => {
    throw new Error('bug');
  });
  const use = [arcReactor(), { on: { 'post-reasoning': fails } }];
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['done']), use });
  expect(await agent.call('go')).toMatchObject({ reason: 'stop', text: 'done' });
  expect(fails).toHaveBeenCalledOnce();
  expect(warn).not.toHaveBeenCalled();
});

test.each<[what: string, hook: Hook, code: string]>([
  ['returns no event', { on: { 'post-reasoning': () => ({}) as never } }, 'HOOK_ERROR'],
  [
    'returns a value that is not a message',
    { on: { 'post-reasoning': (event) => ({ ...event, message: 'no' as never }) } },
    'HOOK_ERROR',
  ],
  [
    'calls a control that its event does not have',
    { on: { 'post-call': (event) => (event as unknown as { stop(): void }).stop() } },
    'CONFIGURATION',
  ],
])(
  'with arcReactor(), a hook that %s fails the call, although failing hooks are ignored',
  async (_what, hook, code) => {
    const { agent } = scriptedAgent(['done'], { use: [arcReactor(), hook] });
    await expect(agent.call('go')).rejects.toMatchObject({ code });
  },
);
