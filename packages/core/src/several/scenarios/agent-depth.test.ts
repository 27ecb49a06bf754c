import { expect, test } from 'vitest';
import { ReActAgent } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '../../testing/scripted-model.ts';
import { agentTool, type AgentToolOptions } from '../agent-tool.ts';

const description = 'Helps';

/** Creates agents that call each other in turn, for ever. `counts.made`: number of them. */
function chain(names: readonly string[], options: Partial<AgentToolOptions> = {}) {
  const counts = { made: 0, requests: 0 };
  const agentAt = (depth: number): ReActAgent => {
    counts.made += 1;
    const name = names[depth % names.length]!;
    const next = names[(depth + 1) % names.length]!;
    const calls: ScriptedReply = {
      toolCalls: [{ name: `call_${next}`, input: { message: 'Do it.' } }],
    };
    const model = new ScriptedModel(Array.from({ length: 20 }, () => calls));
    const tools = [agentTool(() => agentAt(depth + 1), { name: next, description, ...options })];
    return new ReActAgent({ name, model, tools });
  };
  return { agent: agentAt(0), counts };
}

test('an agent that always calls itself fails at the 8th level, and names the chain', async () => {
  const { agent, counts } = chain(['a']);
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'TOOL_ERROR',
    message: expect.stringContaining('more than 8: a > a > a > a > a > a > a > a > a.'),
    details: { agentPath: Array.from({ length: 9 }, () => 'a'), maxDepth: 8 },
  });
  expect(counts.made).toBe(8);
});

test('agents that call each other fail at the limit of the option', async () => {
  const { agent, counts } = chain(['a', 'b'], { maxDepth: 3 });
  await expect(agent.call('go')).rejects.toMatchObject({
    code: 'TOOL_ERROR',
    message: expect.stringContaining('more than 3: a > b > a > b.'),
  });
  expect(counts.made).toBe(3);
});

test('agents nested as deep as the limit answer', async () => {
  const agentAt = (depth: number): ReActAgent => {
    if (depth === 3) return new ReActAgent({ name: 'last', model: new ScriptedModel(['found']) });
    const call = { toolCalls: [{ name: 'call_next', input: { message: 'Go.' } }] };
    const next = agentTool(() => agentAt(depth + 1), { name: 'next', description, maxDepth: 3 });
    return new ReActAgent({
      name: `n${depth}`,
      model: new ScriptedModel([call, 'done']),
      tools: [next],
    });
  };
  expect((await agentAt(1).call('go')).text).toBe('done');
});

test.each([-1, 1.5, '8'])('maxDepth %j is refused', (maxDepth) => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([]) });
  expect(() => agentTool(agent, { description, maxDepth: maxDepth as number })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
