import { AgentError } from '@isoloop/core';

/**
 * Throws `CONFIGURATION` if the arguments of a function do not fit, or if there are `others`, which
 * are options with unknown names. `takes`: what the function takes, for the error.
 */
export function checkArguments(takes: string, isFit: unknown, others: object): void {
  const [unknown] = Object.keys(others);
  if (isFit && !unknown) return;
  const wrong = unknown ? `, not ${unknown}` : '';
  throw new AgentError('CONFIGURATION', `${takes}${wrong}.`);
}
