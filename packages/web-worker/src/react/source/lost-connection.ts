import { AgentError } from '@isoloop/core';

/** Returns whether the connection was lost, or the endpoint did not answer in time. */
export function isLost(error: unknown): boolean {
  // Browsers report a lost connection as a `TypeError`, each with texts of its own.
  return error instanceof TypeError || (AgentError.is(error) && error.code === 'ENDPOINT_TIMEOUT');
}
