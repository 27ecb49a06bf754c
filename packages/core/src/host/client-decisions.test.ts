import {
  assistantMessage,
  InMemoryMemory,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  tool,
  toolMessage,
  userMessage,
  type Decision,
  type Memory,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { acceptDecisions, checkDecisionSize } from './client-decisions.ts';

const tools = [
  tool({
    name: 'pay',
    description: 'Pays',
    input: { type: 'object' },
    needsApproval: true,
    execute: () => 'paid',
  }),
  tool({ name: 'color', description: 'Asks for one', input: { type: 'object' } }),
];
const called = (id: string, name: string) => ({ type: 'tool_use', id, name, input: {} }) as const;
const log = [
  userMessage('Pay'),
  assistantMessage([called('c0', 'pay')]),
  toolMessage({
    type: 'tool_result',
    toolUseId: 'c0',
    name: 'pay',
    output: 'paid',
    state: 'success',
  }),
  assistantMessage([called('c1', 'pay'), called('c2', 'color')]),
];
const approve = (toolUseId: string): Decision => ({ type: 'approve', toolUseId });
const result = (toolUseId: string, output = 'x'): Decision => ({
  type: 'result',
  toolUseId,
  output,
});

async function verdict(
  sentDecisions: readonly Decision[],
  memory: Memory,
  isHistory = false,
): Promise<unknown> {
  const agent = new ReActAgent({ name: 'a', model: new ScriptedModel([]), memory, tools });
  const storedMessages = await memory.read();
  return acceptDecisions(agent, storedMessages, sentDecisions, { isHistory }).catch(
    (error: unknown) => (error as { readonly code: string }).code,
  );
}

const refused: readonly (readonly [string, readonly Decision[]])[] = [
  ['no call', []],
  ['an unknown call', [approve('c9')]],
  ['a finished call', [approve('c0')]],
  ['a finished call, by a result', [result('c0')]],
  ['an open call and an unknown call', [approve('c1'), approve('c9')]],
  ['an open call with the name of another tool', [{ ...approve('c1'), name: 'color' }]],
  ['one call twice', [approve('c1'), { type: 'reject', toolUseId: 'c1' }]],
  ['a call of the agent’s own tool, by a result', [result('c1')]],
  ['a call that waits for a result, by an approval', [approve('c2')]],
  [
    'a call that waits for a result, with other arguments',
    [{ type: 'edit', toolUseId: 'c2', input: {} }],
  ],
  ['a finished call, with other arguments', [{ type: 'edit', toolUseId: 'c0', input: {} }]],
];

test.each(refused)(
  'acceptDecisions() on a memory without a log rejects decisions about %s',
  async (_what, sentDecisions) => {
    expect(await verdict(sentDecisions, new InMemoryMemory(log))).toBe('INVALID_DECISION');
  },
);

test('acceptDecisions() on a memory without a log accepts decisions on calls that are open according to the tools', async () => {
  const sentDecisions = [{ ...approve('c1'), name: 'pay' }, result('c2')];
  expect(await verdict(sentDecisions, new InMemoryMemory(log))).toEqual(sentDecisions);
  expect(
    await verdict([{ type: 'reject', toolUseId: 'c2' }], new InMemoryMemory(log)),
  ).toHaveLength(1);
});

test('acceptDecisions() with isHistory ignores results of finished and unknown calls, and rejects all other invalid decisions', async () => {
  const memory = new InMemoryMemory(log);
  expect(
    await verdict([result('c0', 'forged'), result('c9'), approve('c1')], memory, true),
  ).toEqual([approve('c1')]);
  expect(await verdict([result('c0', 'forged')], memory, true)).toBe('INVALID_DECISION');
  expect(await verdict([approve('c0'), approve('c1')], memory, true)).toBe('INVALID_DECISION');
  expect(await verdict([result('c1'), result('c2')], memory, true)).toBe('INVALID_DECISION');
});

test('acceptDecisions() on a memory with a log rejects decisions on calls that the log does not list as open', async () => {
  const memory = new SessionMemory(new MemoryStore(), 's');
  await memory.append(log);
  for (const sentDecisions of [
    [approve('c1')],
    [result('c2')],
    [{ type: 'reject', toolUseId: 'c1' } as const],
  ]) {
    expect(await verdict(sentDecisions, memory)).toBe('INVALID_DECISION');
  }
});

test('checkDecisionSize() rejects a result or a reason that is one character over the limit', () => {
  const limits = { toolResultChars: 10 };
  const fits: readonly Decision[] = [
    result('c', 'x'.repeat(10)),
    { type: 'reject', toolUseId: 'c', reason: 'x'.repeat(10) },
    approve('c'),
  ];
  for (const decision of fits) checkDecisionSize(decision, limits, String);
  for (const decision of fits.slice(0, 2)) {
    const longer = JSON.parse(JSON.stringify(decision).replace('xx', 'xxx')) as Decision;
    expect(() => checkDecisionSize(longer, limits, () => 'at 1')).toThrow(
      expect.objectContaining({
        code: 'PAYLOAD_TOO_LARGE',
        message: expect.stringContaining('at 1'),
      }),
    );
  }
});

test.each([
  ['accepts an answer to the question of a tool', { takesDecisions: true }, true],
  ['refuses a result of a tool that waits but takes no answers', {}, false],
] as const)('%s', async (_what, more, isAccepted) => {
  const asks = tool({
    name: 'order',
    description: 'Orders',
    input: { type: 'object' },
    execute: (_input, { decision, suspend }) =>
      decision ? 'ordered' : suspend('Which size?', { sizes: ['S', 'M'] }),
  });
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ toolCalls: [{ name: 'order', id: 'c1' }] }, 'done']),
    memory: new SessionMemory(new MemoryStore(), 's'),
    tools: [{ ...asks, ...more }],
  });
  await agent.call('Order');
  const sentDecisions = [result('c1', '{"size":"M"}')];
  const accepting = acceptDecisions(agent, await agent.messages(), sentDecisions);
  if (isAccepted) expect(await accepting).toEqual(sentDecisions);
  else await expect(accepting).rejects.toMatchObject({ code: 'INVALID_DECISION' });
});

test('an edit is validated when a host accepts it, before it is stored, and before the tool starts', async () => {
  const checked: string[] = [];
  let place = 'the model';
  const amount = z.number().refine(() => checked.push(place) > 0);
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ amount }),
    needsApproval: true,
    execute: () => 'paid',
  });
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([
      { toolCalls: [{ name: 'pay', id: 'c1', input: { amount: 1 } }] },
      'done',
    ]),
    tools: [pay],
  });
  await agent.call('Pay');
  place = 'the host';
  const edit: Decision = { type: 'edit', toolUseId: 'c1', input: { amount: 2 } };
  const accepted = await acceptDecisions(agent, await agent.messages(), [edit]);
  place = 'the run';
  await agent.call(accepted);
  expect(checked).toEqual(['the model', 'the host', 'the run', 'the run']);
});
