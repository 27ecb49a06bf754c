import { tool } from '@isoloop/core';
import * as z from 'zod';

const timeIn = tool({
  name: 'time_in',
  description: 'The time in a time zone',
  input: z.object({ zone: z.enum(['Asia/Tokyo', 'Europe/Paris', 'America/New_York']) }),
  execute: ({ zone }) => ({ zone, time: new Date().toLocaleTimeString('en', { timeZone: zone }) }),
});

const drawLots = tool({
  name: 'draw_lots',
  description: 'Draws one of several names at random',
  input: z.object({ names: z.array(z.string()).min(1) }),
  // Each call waits until a person has approved it.
  needsApproval: true,
  execute: ({ names }) => ({ drawn: names[Math.floor(Math.random() * names.length)] }),
});

/** The tools of the agent. Add your own here. */
export const tools = [timeIn, drawLots];
