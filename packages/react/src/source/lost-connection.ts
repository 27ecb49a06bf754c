import { AgentError } from '@isoloop/core';

/** Returns whether the connection was lost, or the endpoint did not answer in time. */
export function isLost(error: unknown): boolean {
  // Browsers report a lost connection as a `TypeError`, each with texts of its own.
  return error instanceof TypeError || (AgentError.is(error) && error.code === 'ENDPOINT_TIMEOUT');
}

/** Returns whether an endpoint does not show the conversation to this person. */
export function isRefusal(error: unknown): boolean {
  const status = AgentError.is(error) && error.details?.['status'];
  return status === 401 || status === 403;
}
