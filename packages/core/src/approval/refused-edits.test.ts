import { expect, test } from 'vitest';
import { ReActAgent, tool, type AgentOptions, type Decision } from '@isoloop/core';
import { approvals, type ApprovalDecision } from '@isoloop/core/approval';
import * as z from 'zod';
import { saveState } from '../state/agent-state.ts';
import { toolResultsOf } from '../message/msg.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import type { SchemaLike } from '../schema/schema.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';

const sum = z.object({ coins: z.number().positive() });

/** Creates an agent whose model calls `pay` twice. `paid`: the arguments of each payment. */
function payer(input: SchemaLike = sum, more: Partial<AgentOptions> = {}) {
  const paid: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: '',
    input,
    needsApproval: true,
    execute: (args) => (paid.push(args), 'paid'),
  });
  const toolCalls = ['c1', 'c2'].map((id) => ({ id, name: 'pay', input: { coins: 1 } }));
  const model = new ScriptedModel([{ toolCalls }, 'Done.']);
  return { agent: new ReActAgent({ name: 'a', model, tools: [pay], ...more }), model, paid };
}

const edit = (input: unknown, toolUseId = 'c1') => ({ type: 'edit', toolUseId, input }) as Decision;
const approve = (toolUseId: string): Decision => ({ type: 'approve', toolUseId });

test.for([{ coins: -5 }, { coins: '20' }, {}, null, 'all', [1]])(
  'the edit %# is refused, nothing is stored, and the tool call still waits',
  async (input) => {
    const { agent, model, paid } = payer();
    await agent.call('Pay');
    const before = await saveState(agent);
    const error = { code: 'INVALID_DECISION', message: expect.stringContaining('"c1"') };
    await expect(agent.call([edit(input), approve('c2')])).rejects.toMatchObject(error);
    await expect(
      agent.call('Hi', { decisions: [edit(input), approve('c2')] }),
    ).rejects.toMatchObject(error);
    expect(await saveState(agent)).toEqual(before);
    expect([paid, model.requests.length]).toEqual([[], 1]);
    const { text } = await agent.call([edit({ coins: 3 }), approve('c2')]);
    expect([text, paid]).toEqual(['Done.', [{ coins: 3 }, { coins: 1 }]]);
  },
);

test('the error of a bad edit says what is wrong, to the person and not to the model', async () => {
  const { agent } = payer();
  await agent.call('Pay');
  await expect(agent.call([edit({ coins: '20' }), approve('c2')])).rejects.toThrow(
    'Tool call "c1" cannot run with these arguments. The arguments of "pay" do not fit its schema:\n' +
      '- coins: Invalid input: expected number, received string',
  );
  await expect(agent.call([edit({ coins: '20' }), approve('c2')])).rejects.not.toThrow('Correct');
});

test('an edit is checked with asynchronous rules, JSON Schema and defaults', async () => {
  const refined = z.object({ coins: z.number().refine(async (coins) => coins < 10) });
  const plain = jsonSchema({
    type: 'object',
    properties: { coins: { type: 'integer', maximum: 9 } },
    required: ['coins'],
  });
  for (const schema of [refined, plain]) {
    const { agent, paid } = payer(schema);
    await agent.call('Pay');
    await expect(agent.call([edit({ coins: 20 }), approve('c2')])).rejects.toMatchObject({
      code: 'INVALID_DECISION',
    });
    await agent.call([edit({ coins: 5 }), approve('c2')]);
    expect(paid).toEqual([{ coins: 5 }, { coins: 1 }]);
  }
  const { agent, paid } = payer(
    z.object({ coins: z.coerce.number(), to: z.string().default('Ann') }),
  );
  await agent.call('Pay');
  await agent.call([edit({ coins: '7' }), approve('c2')]);
  expect(paid).toEqual([
    { coins: 7, to: 'Ann' },
    { coins: 1, to: 'Ann' },
  ]);
});

test('an edit that `decide` makes is refused, and the tool call waits for a decision', async () => {
  const errors: unknown[] = [];
  const decide = (): ApprovalDecision => ({ type: 'edit', input: { coins: -5 } });
  const onError = (error: unknown): void => void errors.push(error);
  const { agent, model, paid } = payer(sum, { use: [approvals({ decide, onError })] });
  const { pending } = await agent.call('Pay');
  expect(pending.map(({ toolUseId }) => toolUseId)).toEqual(['c1', 'c2']);
  expect(errors).toMatchObject([{ code: 'INVALID_DECISION' }, { code: 'INVALID_DECISION' }]);
  expect([paid, model.requests.length]).toEqual([[], 1]);
  expect((await agent.messages()).flatMap(toolResultsOf)).toEqual([]);
});

test('a deferred round refuses the edit, and runs after a good one', async () => {
  const { agent, paid } = payer(sum, { use: [approvals({ deferRound: true })] });
  await agent.call('Pay');
  await expect(agent.call([edit({ coins: 0 })])).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  await agent.call([edit({ coins: 2 }), approve('c2')]);
  expect(paid).toEqual([{ coins: 2 }, { coins: 1 }]);
});
