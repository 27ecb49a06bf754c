import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Extension } from '../../loop/extension.ts';
import type { Run } from '../../loop/run.ts';
import type { Release, Semaphore } from './semaphore.ts';

/**
 * A call waits for a place of the semaphore and holds it to its end, however it ends; agents that
 * are given the same semaphore share its places. The wait is no part of `limits.timeoutMs` (Arc
 * Reactor: `maxConcurrentRequests`). An abort ends it, an interrupt too: the call ends then without
 * asking the model. A call for which the queue is too long fails with `OVERLOADED`.
 *
 * A call whose reader stops reading holds its place. An agent that is called as a tool needs
 * another semaphore than its caller, which holds its own place while it waits for the tool. Throws
 * `CONFIGURATION` for what is no semaphore.
 */
export function concurrency(semaphore: Semaphore): Extension {
  checkFields('CONFIGURATION', 'concurrency()', { semaphore }, 'semaphore:acquire()');
  return {
    wrapCall: (next) =>
      async function* (run, input) {
        if (!input) return yield* next(run, input);
        const release = await enter(semaphore, run);
        try {
          // Aborted or failed as it waited: nothing of the input is to be stored.
          return yield* next(run, run.signal.aborted ? undefined : input);
        } finally {
          release?.();
        }
      },
  };
}

/** Nothing where an abort, an interrupt or a full queue ended the wait. */
async function enter(semaphore: Semaphore, run: Run): Promise<Release | undefined> {
  const signal = run.modelSignal();
  try {
    return run.cut ? undefined : await semaphore.acquire(signal);
  } catch (error) {
    if (!run.cut) run.fail(AgentError.from(error));
    return undefined;
  }
}
