import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region json-schema
import { outputText, ReActAgent, tool, toolResultsOf } from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { jsonSchema } from '@isoloop/core/schema'; // npm install @cfworker/json-schema
// #endregion

const find = (place: unknown): string => `Found ${String(place)}.`;

test('jsonSchema() validates a tool’s input with a plain JSON Schema', async () => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'find', input: { place: { city: 7 } } }] },
    { toolCalls: [{ name: 'find', input: { place: { city: 'Paris' } } }] },
    { toolCalls: [{ name: 'generate_response', input: { city: 'Paris', people: 2_100_000 } }] },
  ]);

  // #region json-schema
  const findPlace = tool({
    name: 'find',
    description: 'Finds a place',
    input: jsonSchema<{ place: { city: string } }>({
      type: 'object',
      properties: { place: { $ref: '#/$defs/place' } },
      required: ['place'],
      $defs: {
        place: {
          type: 'object',
          properties: { city: { type: 'string', minLength: 1 } },
          required: ['city'],
        },
      },
    }),
    execute: ({ place }) => find(place.city), // you declare the type; the value is validated
  });
  const agent = new ReActAgent({ name: 'assistant', model, tools: [findPlace] });

  const city = {
    type: 'object',
    properties: { city: { type: 'string' }, people: { type: 'integer' } },
    required: ['city', 'people'],
  } as const;
  const { output } = await agent.call('How many live in Paris?', {
    output: structured(jsonSchema<{ city: string; people: number }>(city)),
  });
  console.assert(output?.people === 2_100_000);
  // #endregion

  const [wrong, right] = (await agent.messages()).flatMap(toolResultsOf);
  expect(outputText(wrong!.output)).toContain('- place.city: must be string, is number');
  expect(outputText(right!.output)).toBe('Found Paris.');
});
