import { structured } from '@isoloop/core/output';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { boundEndpoint, places, textOf } from '../../test-support/both-bindings.ts';

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
