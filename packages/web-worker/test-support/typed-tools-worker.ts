import { ReActAgent, tool, type ToolContext } from '@isoloop/core';
import { keepDataParts } from '@isoloop/core/results';
import { ScriptedModel } from '@isoloop/core/testing';
import { exposeAgent } from '@isoloop/web-worker/worker';
import * as z from 'zod';

interface Forecast {
  readonly city: string;
  readonly days: readonly { readonly day: Date; readonly high: number }[];
}

const forecast = tool({
  name: 'forecast',
  description: 'Forecast for a city',
  input: z.object({ city: z.string() }),
  execute: async (
    { city },
    { emit }: ToolContext<{ map: { readonly zoom: number } }>,
  ): Promise<Forecast> => {
    emit('looking');
    emit({ type: 'data-map', data: { zoom: 3 } });
    return { city, days: [{ day: new Date('2026-03-01T00:00:00Z'), high: 12 }] };
  },
});

const note = tool({
  name: 'note',
  description: 'Reads a note',
  input: z.object({}),
  execute: (): string => '[1, 2]',
});

const assistant = exposeAgent(({ sessionId, memory }) => {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'forecast', input: { city: 'Rome' } }, { name: 'note' }] },
    'Mild.',
  ]);
  return new ReActAgent({
    name: 'assistant',
    sessionId,
    memory,
    model,
    tools: [forecast, note],
    use: [keepDataParts()],
  });
});

export type Assistant = typeof assistant;
