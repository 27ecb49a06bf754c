import { tool } from '@isoloop/core';
import * as z from 'zod';

/** The sums that `pay` was called with. */
export const paid: unknown[] = [];

/** A tool that needs an approval. */
export const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: z.object({ sum: z.number() }),
  needsApproval: true,
  execute: ({ sum }) => (paid.push(sum), `paid ${sum}`),
});

/** A tool that runs on the page. */
export const color = tool({
  name: 'color',
  description: 'Asks the user for one',
  input: z.object({}),
});
