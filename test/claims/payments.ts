import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';

export interface Payments {
  /** The sums of all calls of `pay`. */
  readonly paid: unknown[];
  /** A tool that needs an approval. */
  readonly pay: Tool;
}

/**
 * Returns a new tool with its own list, so that a late call of one test does not change the list of
 * another test.
 */
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
