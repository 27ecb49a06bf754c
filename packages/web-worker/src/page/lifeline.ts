import { AgentError } from '@isoloop/core';

/**
 * A connection's life: what waits on it is rejected as soon as it is cut, which Comlink alone never
 * does.
 */
export class Lifeline {
  #error: AgentError | undefined;
  readonly #listeners: Set<(error: AgentError) => void> = new Set();

  /** Why it was cut, once it was. */
  get error(): AgentError | undefined {
    return this.#error;
  }

  /** Whether anything waits; the first listener is the connection's own. */
  get waited(): boolean {
    return this.#listeners.size > 1;
  }

  cut(error: AgentError): void {
    if (this.#error) return;
    this.#error = error;
    for (const listener of this.#listeners) listener(error);
    this.#listeners.clear();
  }

  /** Calls back when it is cut, at once if it was; gives back what takes the listener off. */
  onCut(listener: (error: AgentError) => void): () => void {
    if (this.#error) listener(this.#error);
    else this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What the call gives, or the reason of the cut, whichever is first. */
  guard<T>(call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const off = this.onCut(reject);
      if (this.#error) return;
      call()
        .then(resolve, (error: unknown) => reject(boundaryError(error)))
        .finally(off);
    });
  }
}

/** What a call throws before it leaves the page. */
export function boundaryError(error: unknown): AgentError {
  return AgentError.from(
    error,
    (error as Error)?.name === 'DataCloneError' ? 'INVALID_INPUT' : 'INTERNAL',
  );
}

export function unreadable(): AgentError {
  return new AgentError('WORKER_FAILED', 'What the worker sent could not be read.');
}
