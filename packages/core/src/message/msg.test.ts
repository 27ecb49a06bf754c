import { expect, test } from 'vitest';
import { tool } from '../tool/tool.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { toolMessage, type ToolResult } from './msg.ts';
import { parseMessages } from './validate-message.ts';

test('toolMessage() takes one result or a list, and an agent continues with each', async () => {
  const ask = tool({ name: 'ask', description: 'Asks.', input: { type: 'object' } });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'ask' }, { name: 'ask' }] }, 'Done.'], {
    tools: [ask],
  });
  const { pending } = await agent.call('Go.');
  const results = pending.map(({ toolUseId, name }): ToolResult => {
    return { type: 'tool_result', toolUseId, name, output: 'yes', state: 'success' };
  });
  expect(toolMessage(results[0]!).content).toEqual([results[0]]);
  const both = toolMessage(results);
  expect(both.content).toEqual(results);
  expect(parseMessages([both])).toEqual([both]);
  expect((await agent.call(both)).text).toBe('Done.');
});
