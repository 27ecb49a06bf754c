import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region approvals-resume
import { MemoryStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
import * as z from 'zod';
// #endregion

test('the page about approvals decides in another host, and the tool runs once', async () => {
  const calls = [{ name: 'pay', input: { to: 'Alice', amount: 30 } }];
  const model = new ScriptedModel([{ toolCalls: calls }, 'Paid.']);
  const paid: string[] = [];
  const send = (to: string, amount: number): string => {
    paid.push(`${to} ${amount}`);
    return 'Done.';
  };

  // #region approvals-resume
  const pay = tool({
    name: 'pay',
    description: 'Pays somebody',
    input: z.object({ to: z.string(), amount: z.number() }),
    needsApproval: true, // or a function of the arguments
    execute: ({ to, amount }) => send(to, amount),
  });
  const store = new MemoryStore(); // IndexedDbStore in a worker, DurableStore in a Durable Object
  const open = (): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model,
      tools: [pay],
      memory: new SessionMemory(store, 'payments'),
    });

  const asked = await open().call('Pay 30 coins to Alice.');
  console.assert(asked.reason === 'suspended'); // nothing is paid yet

  const later = open(); // after a reload, or another process
  const { pending } = await later.call(); // without input: asks again, without a model request
  const decisions = pending.map(({ toolUseId, name }) => ({
    toolUseId,
    name,
    type: 'edit' as const, // or 'approve', or 'reject' with a `reason`
    input: { to: 'Alice', amount: 20 },
  }));
  const done = await later.call(decisions);
  // #endregion

  expect(done.text).toBe('Paid.');
  expect(paid).toEqual(['Alice 20']);
  expect(model.requests.length).toBe(2);
});
