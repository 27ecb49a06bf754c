import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region partial-output
import { ReActAgent } from '@isoloop/core';
import { outputItems, partialOutput } from '@isoloop/core/stream';
import { structured } from '@isoloop/core/output';
import * as z from 'zod';
// #endregion
// #region output-items
// #endregion

test('partialOutput() shows an object while it arrives, and outputItems() the items of a list', async () => {
  const inPieces = (text: string) => ({
    deltas: [
      [{ type: 'tool-input', index: 0, id: 'c', name: 'generate_response', delta: '' } as const],
      ...Array.from(text, (delta) => [{ type: 'tool-input', index: 0, delta } as const]),
    ],
  });
  const model = new ScriptedModel([
    inPieces('{"city":"Rome","stops":["Forum","Trastevere"]}'),
    inPieces('{"response":[{"name":"Rome"},{"name":"Oslo"}]}'),
  ]);
  const pages: unknown[] = [];
  const show = (trip: unknown): void => void pages.push(trip);

  // #region partial-output
  const Trip = z.object({ city: z.string(), stops: z.array(z.string()) });

  const agent = new ReActAgent({ name: 'planner', model });
  const stream = agent.stream('Plan a day in Rome.', { output: structured(Trip) });
  for await (const trip of partialOutput(stream)) {
    const stops = trip?.stops?.length ?? 0; // every field may be missing, and `trip` after a correction
    show(`${trip?.city ?? '…'}: ${stops} stops`);
  }
  const { output } = await stream.result; // validated; also the last object of the loop
  // #endregion

  expect(output).toEqual({ city: 'Rome', stops: ['Forum', 'Trastevere'] });
  expect(pages).toContain('Rome: 0 stops');
  expect(pages.at(-1)).toBe('Rome: 2 stops');
  pages.length = 0;

  // #region output-items
  const City = z.object({ name: z.string() });

  const cities = agent.stream('Name two cities.', { output: structured(z.array(City)) });
  for await (const city of outputItems(cities, City)) show(city.name); // complete and validated
  // #endregion

  expect(pages).toEqual(['Rome', 'Oslo']);
});
