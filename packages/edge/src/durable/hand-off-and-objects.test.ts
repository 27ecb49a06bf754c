import { handOff } from '@isoloop/core/several';
import { structured } from '@isoloop/core/output';
import { expect, test } from 'vitest';
import * as z from 'zod';
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

test.for(places)('%s: a client sees an object grow, and the log has it whole', async (place) => {
  const trip = { city: 'Rome', days: 3 };
  const json = JSON.stringify(trip);
  const call = { type: 'tool-input', index: 0 } as const;
  const reply = {
    deltas: [
      [{ ...call, id: 'c1', name: 'generate_response', delta: json.slice(0, 9) }],
      [{ ...call, delta: json.slice(9) }],
    ],
  };
  const use = [...structured(z.object({ city: z.string(), days: z.number() }))];
  const { id, post, messages } = boundEndpoint(place, [reply], { use });
  const question = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'A trip' }] };
  const response = await post('/api/chat', { id, messages: [question] });
  const text = await response.text();
  const pieces = [...text.matchAll(/"inputTextDelta":("(?:[^"\\]|\\.)*")/g)];
  const shown = pieces.map(([, piece]) => JSON.parse(piece!) as string).join('');
  expect(JSON.parse(shown)).toEqual(trip);
  expect(JSON.parse(textOf((await messages()).at(-1)!))).toEqual(trip);
});
