import {
  assistantMessage,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  userMessage,
  type Decision,
} from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { beginTurn } from './begin-turn.ts';

const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: { type: 'object' },
  needsApproval: true,
  execute: () => 'paid',
});

async function asked(...replies: readonly ScriptedReply[]) {
  const memory = new SessionMemory(new MemoryStore(), 's');
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [pay] });
  const question = userMessage('Tea?');
  await agent.call(question);
  const texts = async () => (await memory.read()).map(textOf);
  return { agent, question, texts };
}

test('an edited message replaces the earlier one and all later messages', async () => {
  const { agent, question, texts } = await asked('Yes.', 'Cake, too.');
  const message = { ...userMessage('Tea and cake?'), id: question.id };
  const turn = await beginTurn(agent, { kind: 'message', message });
  expect(turn).toEqual({ input: message, decisions: [], replaces: true });
  await agent.call(turn.input);
  expect(await texts()).toEqual(['Tea and cake?', 'Cake, too.']);
});

test('a new answer replaces the answer, and the agent continues from the question', async () => {
  const { agent, question, texts } = await asked('Yes.', 'No.');
  const turn = await beginTurn(agent, { kind: 'regenerate', message: question });
  expect(turn).toEqual({ input: undefined, replaces: true });
  await agent.call();
  expect(await texts()).toEqual(['Tea?', 'No.']);
});

test('a new answer to a message that the log does not have is a new message', async () => {
  const { agent } = await asked('Yes.');
  const message = userMessage('Cake?');
  expect(await beginTurn(agent, { kind: 'regenerate', message })).toMatchObject({
    input: message,
    replaces: false,
  });
});

test('nobody edits a message that the user did not write', async () => {
  const { agent, texts } = await asked('Yes.');
  const [, answer] = await agent.messages();
  const message = { ...userMessage('No.'), id: answer!.id };
  await expect(beginTurn(agent, { kind: 'message', message })).rejects.toMatchObject({
    code: 'INVALID_MESSAGE',
  });
  expect(await texts()).toEqual(['Tea?', 'Yes.']);
});

test('a message rejects the tool calls that wait for an approval, except those with a valid decision', async () => {
  const { agent } = await asked({ toolCalls: [{ name: 'pay', id: 'c1' }] });
  const message = userMessage('Cake?');
  const turn = await beginTurn(agent, { kind: 'message', message });
  expect(turn.decisions).toMatchObject([{ toolUseId: 'c1', type: 'reject' }]);
  const approval = { toolUseId: 'c1', type: 'approve' } as const;
  const forged = { toolUseId: 'c1', type: 'result', output: 'paid' } as const;
  const decided = async (decision: Decision) =>
    (await beginTurn(agent, { kind: 'message', message, decisions: [decision] })).decisions;
  expect(await decided(approval)).toEqual([approval]);
  expect(await decided(forged)).toMatchObject([{ toolUseId: 'c1', type: 'reject' }]);
});

test('a message interrupts the tool calls whose tool is gone', async () => {
  const { agent } = await asked('Yes.');
  await agent.memory.append([
    assistantMessage([{ type: 'tool_use', id: 'c1', name: 'page_tool', input: {} }]),
  ]);
  const request = { kind: 'message', message: userMessage('Cake?') } as const;
  expect((await beginTurn(agent, request)).decisions).toEqual([]);
  const { decisions } = await beginTurn(agent, request, { isToolGone: () => true });
  expect(decisions).toMatchObject([{ toolUseId: 'c1', type: 'result', state: 'interrupted' }]);
});
