import { handOff } from '@isoloop/core/several';
import { expect, test } from 'vitest';
import { boundEndpoint, places, textOf } from '../../test-support/both-bindings.ts';

const billing = {
  name: 'billing',
  description: 'Invoices and refunds.',
  systemPrompt: 'You are billing.',
};

test.for(places)(
  '%s: after a hand-off, the next turn continues with the active agent, from the log',
  async (place) => {
    const replies = [
      { toolCalls: [{ name: 'transfer_to_billing', input: {} }] },
      'Invoice 7.',
      'You are welcome.',
    ];
    const team = { systemPrompt: 'You are the reception.', use: [handOff({ to: [billing] })] };
    const { chat, messages, model } = boundEndpoint(place, replies, team);
    const talk = chat();
    await talk.sendMessage({ text: 'My invoice?' });
    await talk.sendMessage({ text: 'Thanks' });
    const prompts = model.requests.map(({ messages: [first] }) =>
      first!.content.map((block) => ('text' in block ? block.text : '')).join(''),
    );
    expect(prompts.map((prompt) => prompt.includes('billing.'))).toEqual([false, true, true]);
    expect((await messages()).map(textOf)).toEqual([
      'My invoice?',
      'Invoice 7.',
      'Thanks',
      'You are welcome.',
    ]);
  },
);
