import { expect, test } from 'vitest';
import { approvals } from '@isoloop/core/approval';
import { ReActAgent, tool, type Middleware } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { deniedResult } from '@isoloop/core/tool';
import { toolResult } from '../../../packages/core/src/tool/tool-call.ts';
import { look } from '../../support/plain-tools.ts';

const external = tool({ name: 'external', description: '', input: {} });
const pay = tool({ ...look, name: 'pay', description: '', input: {}, needsApproval: true });

async function usedWith(names: readonly string[], use: readonly Middleware[] = []) {
  const toolCalls = names.map((name) => ({ name, id: name }));
  const model = new ScriptedModel([{ toolCalls }, 'Done.']);
  const tools = [look, external, pay];
  const agent = new ReActAgent({ name: 'a', model, tools, use });
  return (await agent.call('Go')).toolsUsed;
}

test('`toolsUsed` has the tools in the order in which they started, without those that wait', async () => {
  expect(await usedWith(['look', 'external', 'pay', 'unknown'])).toEqual(['look']);
  const approving = approvals({ decide: () => ({ type: 'approve' }) });
  expect(await usedWith(['pay', 'look'], [approving])).toEqual(['look', 'pay']);
  const rejecting = approvals({ decide: () => ({ type: 'reject' }) });
  expect(await usedWith(['pay', 'look'], [rejecting])).toEqual(['look']);
});

test('`toolsUsed` has a tool whose result a wrapper gives, and none that a wrapper denies', async () => {
  const answers: Middleware = {
    wrapTool: async ({ toolUse }) => toolResult(toolUse, 'kept', 'success'),
  };
  expect(await usedWith(['look'], [answers])).toEqual(['look']);
  const denies: Middleware = { wrapTool: async (call) => deniedResult(call.toolUse) };
  expect(await usedWith(['look'], [denies])).toEqual([]);
});
