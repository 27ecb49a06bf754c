import type { ModelRequest } from '@isoloop/core';

/** Returns the roles in a request. A message of a recall has the name of the recall instead. */
export function recalledRoles(request?: ModelRequest): string {
  const messages = request?.messages ?? [];
  return messages.map(({ role, name }) => (role === 'user' && name) || role).join(' ');
}
