import { expect, test } from 'vitest';
import { ReActAgent, AgentError, toolResultsOf, tool } from '@isoloop/core';
import { historyFaults } from '@test/support/history-faults.ts';
import { ScriptedModel } from '@isoloop/core/testing';
import { agentscope } from './agentscope.ts';

/** Creates an agent whose first two replies call `a`, `b` and `c`. The wrapper fails at `b`. */
function setUp(thrown: unknown, parallelTools?: number) {
  const ran: string[] = [];
  const tools = ['a', 'b', 'c'].map((name) =>
    tool({ name, description: '', input: {}, execute: () => `${name} ${ran.push(name)}` }),
  );
  const calls = { toolCalls: tools.map(({ name }) => ({ name })) };
  const model = new ScriptedModel([calls, calls, 'Done.', 'Later.']);
  let isBroken = true;
  const agent = new ReActAgent({
    name: 'a',
    model,
    tools,
    ...(parallelTools && { limits: { parallelTools } }),
    use: [
      agentscope(),
      {
        wrapTool: async (call, next) => {
          if (call.tool.name !== 'b' || !isBroken) return next(call);
          isBroken = false;
          throw thrown;
        },
      },
    ],
  });
  const results = async () => {
    const messages = await agent.messages();
    expect(historyFaults(messages)).toEqual([]);
    return messages.flatMap(toolResultsOf).map(({ name, output }) => `${name}: ${String(output)}`);
  };
  return { agent, ran, results };
}

const failed = 'Error: Tool execution failed: no line';

test('with agentscope(), an exception outside a tool gives the calls that have not ended an error result, and the model is asked again', async () => {
  const { agent, ran, results } = setUp(new Error('no line'));
  expect((await agent.call('Go')).text).toBe('Done.');
  expect(await results()).toEqual([
    'a: a 1',
    `b: ${failed}`,
    `c: ${failed}`,
    'a: a 2',
    'b: b 3',
    'c: c 4',
  ]);
  expect(ran).toEqual(['a', 'a', 'b', 'c']);
});

test('with agentscope() and parallel tools, a call that runs already keeps its own result', async () => {
  const { agent, results } = setUp(new Error('no line'), Infinity);
  expect((await agent.call('Go')).text).toBe('Done.');
  expect((await results()).slice(0, 3).toSorted()).toEqual([
    'a: a 1',
    `b: ${failed}`,
    expect.stringMatching(/^c: /),
  ]);
});

test('with agentscope(), a fatal error of a tool still ends the call, and no call stays open', async () => {
  const { agent, results } = setUp(new AgentError('TOOL_ERROR', 'on fire'));
  await expect(agent.call('Go')).rejects.toMatchObject({ code: 'TOOL_ERROR' });
  expect(await results()).toEqual(['a: a 1', 'b: Error: on fire', 'c: Interrupted before it ran.']);
});
