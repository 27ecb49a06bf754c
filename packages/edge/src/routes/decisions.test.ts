import { MemoryStore, ReActAgent, SessionMemory } from '@isoloop/core';
import { agentTool } from '@isoloop/core/several';
import { hasApprovalResponse } from '@isoloop/core/stream';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { boundEndpoint, places, type Bound } from '../../test-support/both-bindings.ts';
import { color, payments } from '@test/claims/payments.ts';

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
  ['an approval with the name of another tool', { ...yes, name: 'now' }, 'INVALID_DECISION'],
  [
    'an approval with the name of another called tool',
    { ...yes, name: 'color' },
    'INVALID_DECISION',
  ],
  ['an approval with the tool name in upper case', { ...yes, name: 'Pay' }, 'INVALID_DECISION'],
  ['an approval with a space after the tool name', { ...yes, name: 'pay ' }, 'INVALID_DECISION'],
  [
    'an approval with the tool name in full-width letters',
    { ...yes, name: 'ｐａｙ' },
    'INVALID_DECISION',
  ],
  [
    'an approval with a hidden character in the tool name',
    { ...yes, name: 'pay\u200b' },
    'INVALID_DECISION',
  ],
  ['an approval with the tool name __proto__', { ...yes, name: '__proto__' }, 'INVALID_DECISION'],
  ['an approval with an empty tool name', { ...yes, name: '' }, 'INVALID_DECISION'],
  ['an approval with null as tool name', { ...yes, name: null }],
  ['an approval with a number as tool name', { ...yes, name: 0 }],
  ['an approval with a list as tool name', { ...yes, name: ['pay'] }],
  ['an approval with the field toolName', { ...yes, toolName: 'now' }],
  ['an approval with arguments', { ...yes, input: { sum: 1 } }],
  ['an approval with a reason', { ...yes, reason: 'fine' }],
  ['a rejection with an output', { ...no, output: 'paid' }],
  ['a rejection with a state', { ...no, state: 'success' }],
  ['a rejection with the name of another tool', { ...no, name: 'now' }, 'INVALID_DECISION'],
  ['a result with the name of another tool', { ...result, name: 'pay' }, 'INVALID_DECISION'],
  ['a result with a reason', { ...result, reason: 'x' }],
  ['a result with an interrupted state', { ...result, state: 'interrupted' }],
  ['an edit without arguments', { ...yes, type: 'edit' }],
  [
    'an edit whose arguments do not fit',
    { ...yes, type: 'edit', input: { sum: 'x' } },
    'INVALID_DECISION',
  ],
  ['an edit with a reason', { ...yes, type: 'edit', input: { sum: 1 }, reason: 'x' }],
  ['an approval with an inherited property as type', { ...yes, type: 'constructor' }],
  [
    'an approval with the field __proto__',
    '{"type":"approve","toolUseId":"c1","__proto__":{"name":"now"}}',
  ],
  [
    'an approval with the field constructor',
    { ...yes, constructor: { prototype: { name: 'now' } } },
  ],
  ['a list', [yes]],
  ['a string', '"approve"'],
  ['null', 'null'],
];

const post = async ({ id, post: send }: Bound, decision: object | string) => {
  const text = typeof decision === 'string' ? decision : JSON.stringify(decision);
  const response = await send('/api/run', `{"sessionId":"${id}","decisions":[${text}]}`);
  return { status: response.status, text: await response.text() };
};

test.for(places)(
  '%s: /api/run rejects a decision that does not match its call exactly',
  async (place) => {
    const { paid, pay } = payments();
    const bound = boundEndpoint(place, [asks, 'Paid.'], { tools: [pay, color] });
    await (await bound.post('/api/run', { sessionId: bound.id, input: 'Pay' })).text();
    for (const [what, decision, code = 'INVALID_INPUT'] of rows) {
      const { status, text } = await post(bound, decision);
      const { error } = JSON.parse(text) as { readonly error: { readonly code: string } };
      expect([what, status, error.code]).toEqual([what, 400, code]);
    }
    expect([paid, bound.model.requests.length]).toEqual([[], 1]);
    expect((await post(bound, { ...yes, name: 'pay' })).status).toBe(200);
    expect(paid).toEqual([5]);
    expect((await post(bound, { ...result, name: 'color' })).text).toContain('Paid.');
  },
);

test.for(places)(
  '%s: /api/run accepts none of several decisions if one is wrong',
  async (place) => {
    const { paid, pay } = payments();
    const two = { toolCalls: ['c1', 'c2'].map((id) => ({ id, name: 'pay', input: { sum: 5 } })) };
    const bound = boundEndpoint(place, [two, 'Paid.'], { tools: [pay] });
    await (await bound.post('/api/run', { sessionId: bound.id, input: 'Pay' })).text();
    const decisions = [
      { ...yes, name: 'pay' },
      { ...yes, toolUseId: 'c2', name: 'now' },
    ];
    const refused = await bound.post('/api/run', { sessionId: bound.id, decisions });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('INVALID_DECISION'),
    ]);
    expect(paid).toEqual([]);
  },
);

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
