import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region tool-rights
import { ReActAgent, tool } from '@isoloop/core';
import * as z from 'zod';
// #endregion

test('a tool checks what the user of its agent may do, and the model reads the refusal', async () => {
  const readInvoice = { toolCalls: [{ name: 'read_invoice', input: { id: 7 } }] };
  const model = new ScriptedModel([readInvoice, 'Sorry.', readInvoice, 'It is 30.']);
  const invoices = new Map([[7, { owner: 'ann', total: 30 }]]);

  // #region tool-rights
  const invoice = tool({
    name: 'read_invoice',
    description: "Reads one of the user's invoices",
    input: z.object({ id: z.number() }),
    execute({ id }, { userId }) {
      const found = invoices.get(id);
      if (found?.owner !== userId) throw new Error('There is no such invoice.'); // the model reads this
      return found;
    },
  });
  const agentOf = (userId: string): ReActAgent =>
    new ReActAgent({ name: 'clerk', model, userId, tools: [invoice] });
  await agentOf('bob').call('How much is invoice 7?');
  // #endregion

  expect(JSON.stringify(model.requests[1]!.messages)).toContain('There is no such invoice.');
  expect((await agentOf('ann').call('How much is invoice 7?')).text).toBe('It is 30.');
  expect(JSON.stringify(model.requests[3]!.messages)).toContain('30');
});
