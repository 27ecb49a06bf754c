import { expect, test } from 'vitest';
import { ReActAgent, tool, type AgentInput, type Tool } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { approvals } from './approvals.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';

/**
 * Creates an agent whose model calls the tool `pay` with the id `c1`. `pay` needs approval and adds
 * each payment to `paid`.
 */
function payer(more: object = {}) {
  const paid: string[] = [];
  const pay = tool({
    name: 'pay',
    description: '',
    input: {},
    needsApproval: true,
    execute: () => (paid.push('paid'), 'paid'),
  });
  const agent = agentOf([{ toolCalls: [{ id: 'c1', name: 'pay' }] }, 'Done.'], [pay], more);
  return { agent, paid };
}

function agentOf(replies: readonly ScriptedReply[], tools: readonly Tool[], more = {}): ReActAgent {
  return new ReActAgent({ name: 'a', model: new ScriptedModel(replies), tools, ...more });
}

const bad: readonly (readonly [string, object])[] = [
  ['the name of another tool', { type: 'approve', name: 'now' }],
  ['an empty name', { type: 'approve', name: '' }],
  ['a name that is not a text', { type: 'approve', name: 0 }],
  ['null as its name', { type: 'approve', name: null }],
  ['a list as name', { type: 'approve', name: ['pay'] }],
  ['a field that no decision has', { type: 'approve', tool: 'now' }],
  ['arguments with an approval', { type: 'approve', input: { sum: 1 } }],
  ['a reason with an approval', { type: 'approve', reason: 'fine' }],
  ['an output with a rejection', { type: 'reject', output: 'paid' }],
  ['a reason that is not a text', { type: 'reject', reason: { text: 'no' } }],
  ['a reason with an edit', { type: 'edit', input: {}, reason: 'no' }],
  ['arguments with a result', { type: 'result', output: 'paid', input: {} }],
  ['a list as state', { type: 'result', output: 'paid', state: ['success'] }],
  ['a type that every object has', { type: 'constructor' }],
  ['a field named like its prototype', JSON.parse('{"type":"approve","__proto__":{"name":"now"}}')],
];

test.for(bad)('a decision with %s is rejected, and no tool runs', async ([, decision]) => {
  for (const send of [
    (agent: ReActAgent, given: object) => agent.call([given] as AgentInput),
    (agent: ReActAgent, given: object) => agent.call('Hi', { decisions: [given] as never }),
  ]) {
    const { agent, paid } = payer();
    await agent.call('Pay');
    const given = { toolUseId: 'c1', ...decision };
    // Object spread drops an own key named `__proto__`.
    const own = Object.getOwnPropertyDescriptor(decision, '__proto__');
    if (own) Object.defineProperty(given, '__proto__', own);
    await expect(send(agent, given)).rejects.toMatchObject({
      code: expect.stringMatching(/^INVALID_(INPUT|DECISION)$/),
    });
    expect(paid).toEqual([]);
    await expect(
      agent.call([{ toolUseId: 'c1', name: 'pay', type: 'approve' }]),
    ).resolves.toMatchObject({
      text: 'Done.',
    });
    expect(paid).toEqual(['paid']);
  }
});

test('the error names the field that a decision does not have', async () => {
  const { agent } = payer();
  await agent.call('Pay');
  const call = agent.call([{ toolUseId: 'c1', type: 'approve', toolName: 'now' }] as never);
  await expect(call).rejects.toThrow(/`toolName`/);
});

test('a decision field with the value undefined counts as absent', async () => {
  const { agent, paid } = payer();
  await agent.call('Pay');
  await agent.call([{ toolUseId: 'c1', type: 'approve', name: undefined }] as never);
  expect(paid).toEqual(['paid']);
});

test.for([
  { type: 'approve', name: 'now' },
  { type: 'approve', toolUseId: 'c2' },
  { type: 'approve', input: { sum: 1 } },
])('the decision %j of `decide` is rejected, and no tool runs', async (decision) => {
  const errors: unknown[] = [];
  const decide = () => decision as never;
  const onError = (error: unknown): void => void errors.push(error);
  const { agent, paid } = payer({ use: [approvals({ decide, onError })] });
  expect((await agent.call('Pay')).pending).toMatchObject([{ toolUseId: 'c1' }]);
  expect(errors).toMatchObject([{ code: 'INVALID_DECISION' }]);
  expect(paid).toEqual([]);
});

test('a decision that names an agent tool reaches the pending tool calls of the child', async () => {
  const { agent: child, paid } = payer();
  const replies = [{ toolCalls: [{ id: 'p1', name: 'call_a', input: { message: 'Go' } }] }, 'End.'];
  const parent = agentOf(replies, [agentTool(child, { description: '' })]);
  expect(await parent.call('Go')).toMatchObject({ reason: 'suspended' });
  const result = await parent.call([{ toolUseId: 'p1', name: 'call_a', type: 'approve' }]);
  expect([result.text, paid]).toEqual(['End.', ['paid']]);
});
