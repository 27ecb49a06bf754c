import { AgentError } from '@isoloop/core';

/**
 * Connection of a page to a worker. If the connection is cut, all pending requests reject at once.
 * (With Comlink alone, they would stay pending.)
 */
export class Connection {
  /** Error with which the connection was cut. `undefined` while the connection is open. */
  error: AgentError | undefined;
  readonly #listeners: Set<(error: AgentError) => void> = new Set();

  /**
   * Whether requests are pending. Each pending request has one listener, and `linkWorker` has one
   * further listener.
   */
  get waited(): boolean {
    return this.#listeners.size > 1;
  }

  /** Cuts the connection. Pending requests reject with the error. */
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

  /**
   * Makes a request to the worker and settles with its result. Rejects if the connection is cut
   * first.
   */
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

/**
 * Converts an error that occurred when a message was sent. Data that cannot be cloned becomes
 * `INVALID_INPUT`.
 */
export function boundaryError(error: unknown): AgentError {
  return AgentError.from(
    error,
    (error as Error)?.name === 'DataCloneError' ? 'INVALID_INPUT' : 'INTERNAL',
  );
}

export function unreadable(): AgentError {
  return new AgentError('WORKER_FAILED', 'The worker sent unreadable data.');
}
