import { agentTool, MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
import { hasApprovalResponse } from '@isoloop/core/ai-sdk';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { boundEndpoint, places, type Bound } from '../../test-support/both-bindings.ts';
import { color, payments } from '../../test-support/payments.ts';

const asks = {
  toolCalls: [
    { id: 'c1', name: 'pay', input: { sum: 5 } },
    { id: 'c2', name: 'color', input: {} },
  ],
};

type Row = readonly [what: string, decision: object | string, code?: string];

const yes = { type: 'approve', toolUseId: 'c1' };
const no = { type: 'reject', toolUseId: 'c1' };
const result = { type: 'result', toolUseId: 'c2', output: 'blue' };
const rows: readonly Row[] = [
  ['of another tool', { ...yes, name: 'now' }, 'INVALID_DECISION'],
  ['of another tool of the same turn', { ...yes, name: 'color' }, 'INVALID_DECISION'],
  ['of a tool in other letters', { ...yes, name: 'Pay' }, 'INVALID_DECISION'],
  ['of a tool with a blank', { ...yes, name: 'pay ' }, 'INVALID_DECISION'],
  ['of a tool in full-width letters', { ...yes, name: 'ｐａｙ' }, 'INVALID_DECISION'],
  ['of a tool with a hidden character', { ...yes, name: 'pay\u200b' }, 'INVALID_DECISION'],
  ['of every object’s tool', { ...yes, name: '__proto__' }, 'INVALID_DECISION'],
  ['without a name for its tool', { ...yes, name: '' }],
  ['with null as name', { ...yes, name: null }],
  ['with a number as name', { ...yes, name: 0 }],
  ['with a list as name', { ...yes, name: ['pay'] }],
  ['with a toolName', { ...yes, toolName: 'now' }],
  ['with arguments', { ...yes, input: { sum: 1 } }],
  ['with a reason', { ...yes, reason: 'fine' }],
  ['with an output', { ...no, output: 'paid' }],
  ['with a state', { ...no, state: 'success' }],
  ['a rejection of another tool', { ...no, name: 'now' }, 'INVALID_DECISION'],
  ['a result of another tool', { ...result, name: 'pay' }, 'INVALID_DECISION'],
  ['a result with a reason', { ...result, reason: 'x' }],
  ['a result with an interrupted state', { ...result, state: 'interrupted' }],
  ['an edit', { ...yes, type: 'edit', input: { sum: 1 } }],
  ['of a type that every object has', { ...yes, type: 'constructor' }],
  [
    'with its prototype as a field',
    '{"type":"approve","toolUseId":"c1","__proto__":{"name":"now"}}',
  ],
  ['with its constructor as a field', { ...yes, constructor: { prototype: { name: 'now' } } }],
  ['a list', [yes]],
  ['no object', '"approve"'],
  ['null', 'null'],
];

const post = async ({ id, post: send }: Bound, decision: object | string) => {
  const text = typeof decision === 'string' ? decision : JSON.stringify(decision);
  const response = await send('/api/run', `{"id":"${id}","decisions":[${text}]}`);
  return { status: response.status, text: await response.text() };
};

test.for(places)('%s: a decision that is not exactly about its call is refused', async (place) => {
  const { paid, pay } = payments();
  const bound = boundEndpoint(place, [asks, 'Paid.'], { tools: [pay, color] });
  await (await bound.post('/api/run', { id: bound.id, input: 'Pay' })).text();
  for (const [what, decision, code = 'INVALID_INPUT'] of rows) {
    const { status, text } = await post(bound, decision);
    const { error } = JSON.parse(text) as { readonly error: { readonly code: string } };
    expect([what, status, error.code]).toEqual([what, 400, code]);
  }
  expect([paid, bound.model.requests.length]).toEqual([[], 1]);
  expect((await post(bound, { ...yes, name: 'pay' })).status).toBe(200);
  expect(paid).toEqual([5]);
  expect((await post(bound, { ...result, name: 'color' })).text).toContain('Paid.');
});

test.for(places)('%s: one wrong decision of several keeps all of them out', async (place) => {
  const { paid, pay } = payments();
  const two = { toolCalls: ['c1', 'c2'].map((id) => ({ id, name: 'pay', input: { sum: 5 } })) };
  const bound = boundEndpoint(place, [two, 'Paid.'], { tools: [pay] });
  await (await bound.post('/api/run', { id: bound.id, input: 'Pay' })).text();
  const decisions = [
    { ...yes, name: 'pay' },
    { ...yes, toolUseId: 'c2', name: 'now' },
  ];
  const refused = await bound.post('/api/run', { id: bound.id, decisions });
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining('INVALID_DECISION'),
  ]);
  expect(paid).toEqual([]);
});

test.for(places)(
  '%s: an approval in a chat also approves the calls of a child agent',
  async (place) => {
    const { paid, pay } = payments();
    const asked = { toolCalls: [{ id: 'c1', name: 'pay', input: { sum: 5 } }] };
    const model = new ScriptedModel([asked, 'Done.']);
    const store = new MemoryStore();
    const purse = agentTool(
      ({ sessionId }) => {
        const memory = new SessionMemory(store, sessionId);
        return new ReActAgent({ name: 'purse', sessionId, memory, model, tools: [pay] });
      },
      { name: 'purse', description: 'Pays' },
    );
    const call = { id: 'p1', name: 'call_purse', input: { message: 'Pay' } };
    const bound = boundEndpoint(place, [{ toolCalls: [call] }, 'Paid.'], { tools: [purse] });
    const chat = bound.chat({ sendAutomaticallyWhen: hasApprovalResponse });
    await chat.sendMessage({ text: 'Pay' });
    await chat.addToolApprovalResponse({ id: 'p1', approved: true });
    await expect.poll(() => chat.texts.at(-1)).toBe('Paid.');
    expect([paid, model.requests.length]).toEqual([[5], 2]);
  },
);
