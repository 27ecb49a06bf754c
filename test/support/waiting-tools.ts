import { tool, type Tool } from '@isoloop/core';

/** A tool whose result comes from outside, and a tool that needs approval. */
export interface WaitingTools {
  readonly tools: readonly Tool[];
  /** Arguments with which `pay` ran. */
  readonly ran: readonly unknown[];
}

/** Creates the tools `outside` and `pay`, whose calls both wait for a decision. */
export function waitingTools(): WaitingTools {
  const ran: unknown[] = [];
  const input = { type: 'object' } as const;
  const outside = tool({ name: 'outside', description: '', input });
  const pay = tool({
    name: 'pay',
    description: '',
    input,
    needsApproval: true,
    execute: (given) => `paid ${ran.push(given)}`,
  });
  return { tools: [outside, pay], ran };
}
