import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';
import type { AroundTool } from './around-tool.ts';
import { cities, findCity } from './cities.ts';

export function timeInCity(around: AroundTool, now: () => number = Date.now): Tool {
  return tool({
    name: 'time_in_city',
    description: `The current local time in a city. Known: ${cities.map(({ names }) => names[0]).join(', ')}; also by their Chinese, Japanese and Korean names.`,
    input: z.object({ city: z.string().describe('The city’s name') }),
    replay: 'safe',
    execute: ({ city }, context) => around(context, () => localTime(city, now())),
  });
}

function localTime(city: string, at: number): Readonly<Record<string, string>> {
  const known = findCity(city);
  if (!known) throw new Error(`The city "${city}" is unknown.`);
  const format = {
    timeZone: known.zone,
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  } as const;
  const parts = new Intl.DateTimeFormat('en-GB', format).formatToParts(at);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? '';
  return {
    city,
    zone: known.zone,
    weekday: part('weekday'),
    time: `${part('hour')}:${part('minute')}`,
  };
}
