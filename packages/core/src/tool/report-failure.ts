import type { AgentError } from '../error/agent-error.ts';

/** Tells of a failure that nobody waits for: to the listener, else to the console. A listener that throws goes there too. */
export function reportFailure(what: string, error: AgentError, onError: ((error: AgentError) => void) | undefined): void {
  const warn = (told: unknown): void => console.warn(what, told);
  try {
    (onError ?? warn)(error);
  } catch (failure) {
    warn(failure);
  }
}
