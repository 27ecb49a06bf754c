import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region hand-off
import { ReActAgent, tool } from '@isoloop/core';
import { agentTool, handOff, type HandOffAgent } from '@isoloop/core/several';
import * as z from 'zod';
// #endregion
// #region supervisor
// #endregion

test('agents pass one conversation on', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'transfer_to_billing' }] },
    { toolCalls: [{ name: 'refund', input: { invoice: 7 } }] },
    'You get your money back.',
    'In three days.',
  ]);

  // #region hand-off
  const refund = tool({
    name: 'refund',
    description: 'Refunds an invoice',
    input: z.object({ invoice: z.number() }),
    execute: ({ invoice }) => `refunded ${invoice}`,
  });
  const billing: HandOffAgent = {
    name: 'billing',
    description: 'Invoices and refunds.', // for the models of the other agents
    systemPrompt: 'You answer questions about invoices.',
    tools: [refund],
  };
  const support: HandOffAgent = {
    name: 'support',
    description: 'Technical problems.',
    systemPrompt: 'You solve technical problems.',
    to: ['reception'], // not to billing
    inputFilter: (history) => history.filter(({ role }) => role === 'user'),
  };
  const agent = new ReActAgent({
    name: 'reception',
    systemPrompt: 'Find out what the user needs, then hand off.',
    model,
    use: [handOff({ to: [billing, support] })],
  });

  const { text, message } = await agent.call('Invoice 7 is wrong.');
  console.assert(text === 'You get your money back.' && message.name === 'billing');
  await agent.call('When?'); // billing answers
  // #endregion

  expect((await agent.messages()).at(-1)).toMatchObject({ name: 'billing' });
  model.assertDone();
});

test('a supervisor asks other agents', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'call_billing', input: { message: 'Is invoice 7 paid?' } }] },
    'Invoice 7 is paid.',
  ]);
  const billingModel = new ScriptedModel(['Yes.']);

  // #region supervisor
  const experts = [
    agentTool(
      ({ sessionId }) => new ReActAgent({ name: 'billing', sessionId, model: billingModel }),
      { name: 'billing', description: 'Knows invoices and refunds' },
    ),
  ];
  const supervisor = new ReActAgent({ name: 'supervisor', model, tools: experts });
  const { text, message } = await supervisor.call('Is invoice 7 paid?');
  console.assert(text === 'Invoice 7 is paid.' && message.name === 'supervisor');
  // #endregion

  expect((await supervisor.messages()).at(-1)).toMatchObject({ name: 'supervisor' });

  model.assertDone();
});
