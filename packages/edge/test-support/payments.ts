import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';

export interface Payments {
  /** The sums that `pay` was called with. */
  readonly paid: unknown[];
  /** A tool that needs an approval. */
  readonly pay: Tool;
}

/** Returns a new tool and its own list, so that a late call of one test is not seen in another. */
export function payments(): Payments {
  const paid: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ sum: z.number() }),
    needsApproval: true,
    execute: ({ sum }) => (paid.push(sum), `paid ${sum}`),
  });
  return { paid, pay };
}

/** A tool that runs on the page. */
export const color = tool({
  name: 'color',
  description: 'Asks the user for one',
  input: z.object({}),
});
