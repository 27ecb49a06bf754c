import { expect, test } from 'vitest';
import { MemoryStore, ReActAgent, SessionMemory, tool, type Decision } from '@isoloop/core';
import { decideForMessage } from './decide-for-message.ts';
import { ScriptedModel } from '@isoloop/core/testing';
import { rolesOf } from '@test/roles-of.ts';

const ran: unknown[] = [];
const input = { type: 'object' } as const;
const pay = tool({
  name: 'pay',
  description: 'Pays',
  input,
  needsApproval: true,
  execute: (sum) => (ran.push(sum), 'paid'),
});
const color = tool({ name: 'color', description: 'Asks for a color', input });

async function suspended(...names: readonly string[]) {
  ran.length = 0;
  const model = new ScriptedModel([{ toolCalls: names.map((name) => ({ name })) }, 'Tea.']);
  const memory = new SessionMemory(new MemoryStore(), 's');
  const agent = new ReActAgent({ name: 'a', model, memory, tools: [pay, color] });
  const seen: string[] = [];
  agent.addHook({
    on: {
      'pre-call': () => void seen.push('pre-call'),
      'post-acting': ({ result }) => void seen.push(result.state),
    },
  });
  await agent.call('Go');
  seen.length = 0;
  return { agent, model, memory, seen };
}

test('call() accepts a message together with decisions about all open tool calls, and asks the model once', async () => {
  const { agent, model, memory, seen } = await suspended('pay', 'pay');
  const decisions = await decideForMessage(agent, await agent.messages(), {
    clientDecisions: [{ type: 'approve', toolUseId: 'call_1' }],
  });
  const result = await agent.call('Tea instead', { decisions });
  expect(result.text).toBe('Tea.');
  expect(seen).toEqual(['pre-call', 'denied', 'success']);
  expect(ran).toEqual([{}]);
  expect(model.requests).toHaveLength(2);
  expect(rolesOf(await memory.read())).toBe('user assistant tool tool user assistant');
});

test('decideForMessage() returns no decisions while an external tool call is open, and call() names the open tool calls', async () => {
  const { agent, seen } = await suspended('pay', 'color');
  expect(await decideForMessage(agent, await agent.messages())).toEqual([]);
  await expect(agent.call('Tea instead')).rejects.toMatchObject({
    code: 'PENDING_TOOL_CALLS',
    message: expect.stringContaining('"pay" (call_1), "color" (call_2)'),
    details: { ids: ['call_1', 'call_2'] },
  });
  expect(seen).toEqual(['pre-call']);
  const isToolGone = ({ name }: { readonly name: string }): boolean => name === 'color';
  const decisions = await decideForMessage(agent, await agent.messages(), { isToolGone });
  await agent.call('Tea instead', { decisions });
  expect(seen.toSorted()).toEqual(['denied', 'interrupted', 'pre-call', 'pre-call']);
});

test.for<[string, readonly Decision[], string]>([
  ['about some of the open calls', [{ type: 'reject', toolUseId: 'call_1' }], 'PENDING_TOOL_CALLS'],
  ['about an unknown call', [{ type: 'reject', toolUseId: 'x' }], 'INVALID_DECISION'],
  ['of another type', [{ type: 'maybe', toolUseId: 'call_1' } as never], 'INVALID_INPUT'],
])(
  'call() rejects decisions %s beside a message, and changes nothing',
  async ([, decisions, code]) => {
    const { agent, memory } = await suspended('pay', 'pay');
    const before = await memory.read();
    await expect(agent.call('Tea instead', { decisions })).rejects.toMatchObject({ code });
    expect(await memory.read()).toEqual(before);
    expect(ran).toEqual([]);
  },
);

test('if a pre-call hook stops the call, the next call applies the decisions', async () => {
  const { agent } = await suspended('pay');
  const remove = agent.addHook({ on: { 'pre-call': ({ stop }) => stop() } });
  await agent.call('Tea instead', { decisions: [{ type: 'approve', toolUseId: 'call_1' }] });
  expect(ran).toEqual([]);
  remove();
  expect((await agent.call()).text).toBe('Tea.');
  expect(ran).toEqual([{}]);
});

test('without open tool calls, decideForMessage() returns no decisions', async () => {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel(['Hi.', 'Tea.']) });
  await agent.call('Hello');
  expect(await decideForMessage(agent, await agent.messages())).toEqual([]);
  expect((await agent.call('Tea', { decisions: [] })).text).toBe('Tea.');
});
