import { expect, test } from 'vitest';
import { InMemoryMemory } from '../../memory/in-memory-memory.ts';
import { assistantMessage, userMessage, outputText, toolResultsOf } from '../../message/msg.ts';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { tool } from '../../tool/tool.ts';
import { agentTool } from '../agent-tool.ts';
import type { Decision } from '../../event/pending-call.ts';
import { ReActAgent } from '../../react-agent/react-agent.ts';

/**
 * Creates a parent whose child calls the named tools. `guarded` needs approval, and `external` runs
 * outside the agent.
 */
function build(childAsks: readonly string[]) {
  const ran: string[] = [];
  const guarded = tool({
    name: 'guarded',
    description: '',
    input: {},
    needsApproval: true,
    execute: () => (ran.push('guarded'), 'deleted'),
  });
  const external = tool({ name: 'external', description: '', input: {} });
  const says: ScriptedReply[] = [
    { toolCalls: childAsks.map((name, index) => ({ name, id: `child_${index}` })) },
    'child done',
  ];
  const childModel = new ScriptedModel(says);
  const child = new ReActAgent({
    name: 'helper',
    sessionId: 'c',
    model: childModel,
    tools: [guarded, external],
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'call_helper', input: { message: 'go' }, id: 'p1' }] },
    'all done',
  ]);
  const parent = new ReActAgent({
    name: 'boss',
    model,
    tools: [agentTool(child, { description: '' })],
  });
  const outputs = (of: ScriptedModel) =>
    of.requests
      .at(-1)!
      .messages.flatMap(toolResultsOf)
      .map(({ output }) => outputText(output));
  return { parent, model, child, childModel, ran, outputs };
}
const answer = 'session_id: c\n\nchild done';

test('a child with pending tool calls suspends its parent, and the parent’s result names those calls', async () => {
  const { parent, ran, model } = build(['guarded']);
  const result = await parent.call('go');
  expect(result.reason).toBe('suspended');
  expect(result.pending).toMatchObject([
    {
      toolUseId: 'p1',
      name: 'call_helper',
      kind: 'suspended',
      reason: 'helper waits: approval of guarded',
    },
  ]);
  const again = await parent.call();
  expect(again).toMatchObject({ reason: 'suspended', pending: [{ toolUseId: 'p1' }] });
  expect([ran, model.requests.length]).toEqual([[], 1]);
});

test.for([
  ['approve', ['guarded'], { type: 'approve' }, ['deleted'], ['guarded']],
  [
    'approve, of two',
    ['guarded', 'guarded'],
    { type: 'approve' },
    ['deleted', 'deleted'],
    ['guarded', 'guarded'],
  ],
  [
    'reject',
    ['guarded'],
    { type: 'reject', reason: 'too risky' },
    ['Tool call rejected: too risky'],
    [],
  ],
  ['result', ['external'], { type: 'result', output: '42' }, ['42'], []],
] as const)(
  'a decision about the parent’s tool call is applied to the child’s tool calls: %s',
  async ([, asks, decision, childSaw, executed]) => {
    const { parent, model, childModel, ran, outputs } = build(asks);
    await parent.call('go');
    const result = await parent.call([{ toolUseId: 'p1', ...decision } as Decision]);
    expect(result).toMatchObject({ reason: 'stop', text: 'all done', pending: [] });
    expect(outputs(childModel)).toEqual(childSaw);
    expect(outputs(model)).toEqual([answer]);
    expect(ran).toEqual(executed);
    // The child received the user message only once.
    expect(childModel.requests.at(-1)!.messages.filter(({ role }) => role === 'user')).toHaveLength(
      1,
    );
  },
);

test.for([
  ['one result for two calls', ['external', 'external'], { type: 'result', output: '42' }],
  ['an edit', ['guarded'], { type: 'edit', input: { message: 'other' } }],
] as const)('the parent is suspended again after %s', async ([, asks, decision]) => {
  const { parent, ran } = build(asks);
  await parent.call('go');
  expect(await parent.call([{ toolUseId: 'p1', ...decision } as Decision])).toMatchObject({
    reason: 'suspended',
    pending: [{ toolUseId: 'p1' }],
  });
  expect(ran).toEqual([]);
});

test('a child that has already answered returns its answer to the parent', async () => {
  const { parent, model, child, outputs } = build(['external']);
  await parent.call('go');
  await child.call([{ toolUseId: 'child_0', type: 'result', output: '42' }]);
  await parent.call([{ toolUseId: 'p1', type: 'approve' }]);
  expect(outputs(model)).toEqual([answer]);
});

test.for([
  ['a tool that waits', 'waits', 'helper waits: suspended of waits (for the boss)'],
  ['a pause', 'paused', 'helper waits: paused'],
] as const)('the parent reports what its child waits for: %s', async ([, how, reason]) => {
  const waits = tool({
    name: 'waits',
    description: '',
    input: {},
    execute: (_input, { suspend }) => suspend('for the boss'),
  });
  const childModel = new ScriptedModel([
    how === 'waits' ? { toolCalls: [{ name: 'waits' }] } : 'one two',
  ]);
  const child = new ReActAgent({ name: 'helper', model: childModel, tools: [waits] });
  if (how === 'paused')
    child.addHook({ on: { 'reasoning-chunk': () => void child.interrupt({ mode: 'pause' }) } });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'call_helper', input: { message: 'go' }, id: 'p1' }] },
  ]);
  const parent = new ReActAgent({
    name: 'boss',
    model,
    tools: [agentTool(child, { description: '' })],
  });
  expect((await parent.call('go')).pending).toMatchObject([
    { toolUseId: 'p1', kind: 'suspended', reason },
  ]);
});

test.for([
  ['before the child answered', [], { reason: 'stop', text: 'all done' }, ['user', 'assistant']],
  [
    'while the child waited',
    [assistantMessage([{ type: 'tool_use', id: 'c1', name: 'external', input: {} }])],
    {
      reason: 'suspended',
      pending: [{ toolUseId: 'p1', reason: 'helper waits: external of external' }],
    },
    ['user', 'assistant'],
  ],
] as const)(
  'a tool call that was interrupted %s continues from the child’s log',
  async ([, said, ended, roles]) => {
    const external = tool({ name: 'external', description: '', input: {} });
    const childMemory = new InMemoryMemory([userMessage('go', { id: 's:p1' }), ...said]);
    const child = new ReActAgent({
      name: 'helper',
      model: new ScriptedModel(['hi']),
      memory: childMemory,
      tools: [external],
    });
    const use = {
      type: 'tool_use',
      id: 'p1',
      name: 'call_helper',
      input: { message: 'go' },
    } as const;
    const memory = new InMemoryMemory([userMessage('go'), assistantMessage([use])]);
    const helper = agentTool(child, { description: '', replay: 'safe' });
    const parent = new ReActAgent({
      name: 'boss',
      sessionId: 's',
      model: new ScriptedModel(['all done']),
      memory,
      tools: [helper],
    });
    expect(await parent.call()).toMatchObject(ended);
    expect((await child.messages()).map(({ role }) => role)).toEqual(roles);
  },
);
