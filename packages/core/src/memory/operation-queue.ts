import { AgentError } from '../error/agent-error.ts';

/** Runs the operations of a memory one at a time, in call order. */
export class OperationQueue {
  #last: Promise<unknown> = Promise.resolve();
  /** Signal of the caller that waits for `runUntil`. */
  #signal: AbortSignal | undefined;
  readonly #readAgain: () => void;

  /** `readAgain`: starts the current read of the store again. */
  constructor(readAgain: () => void) {
    this.#readAgain = readAgain;
  }

  /** Runs an operation after all earlier ones. Rejects with an `AgentError` if it fails. */
  run<T>(operation: () => Promise<T>): Promise<T> {
    // The run that waited for this read was aborted, and the read may never end.
    if (this.#signal?.aborted) this.#readAgain();
    const result = this.#last.then(operation).catch((error: unknown) => {
      throw AgentError.from(error, 'STORAGE_FAILED');
    });
    this.#last = result.catch(() => {});
    return result;
  }

  /** Runs an operation whose reads may hold up later operations only until `signal` aborts. */
  runUntil<T>(signal: AbortSignal | undefined, operation: () => Promise<T>): Promise<T> {
    const result = this.run(operation).finally(() => {
      if (this.#signal === signal) this.#signal = undefined;
    });
    this.#signal = signal;
    return result;
  }
}
