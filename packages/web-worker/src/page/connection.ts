import { AgentError } from '@isoloop/core';

/**
 * A connection to a worker. Cutting it rejects all pending calls at once; Comlink alone never does.
 */
export class Connection {
  /** The reason the connection was cut; `undefined` while it lasts. */
  error: AgentError | undefined;
  readonly #listeners: Set<(error: AgentError) => void> = new Set();

  /** Whether calls are pending. The first listener is the connection's own. */
  get waited(): boolean {
    return this.#listeners.size > 1;
  }

  cut(error: AgentError): void {
    if (this.error) return;
    this.error = error;
    for (const listener of this.#listeners) listener(error);
    this.#listeners.clear();
  }

  /** Calls `listener` when the connection is cut. Returns a function that removes the listener. */
  onCut(listener: (error: AgentError) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Settles as the call does, or rejects if the connection is cut first. */
  guard<T>(call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.error) return reject(this.error);
      const off = this.onCut(reject);
      call()
        .then(resolve, (error: unknown) => reject(boundaryError(error)))
        .finally(off);
    });
  }
}

/** Converts an error that happened before a call left the page. */
export function boundaryError(error: unknown): AgentError {
  return AgentError.from(
    error,
    (error as Error)?.name === 'DataCloneError' ? 'INVALID_INPUT' : 'INTERNAL',
  );
}

export function unreadable(): AgentError {
  return new AgentError('WORKER_FAILED', 'The worker sent unreadable data.');
}
