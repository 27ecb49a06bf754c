import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Middleware } from '../../loop/use/middleware.ts';
import type { RunContext } from '../../loop/run/run-context.ts';
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
export function concurrency(semaphore: Semaphore): Middleware {
  checkFields('CONFIGURATION', 'concurrency()', { semaphore }, 'semaphore:acquire()');
  return {
    name: 'concurrency',
    wrapRun: (next) => async (input, context) => {
      if (!input) return next(input, context);
      const release = await enter(semaphore, context);
      try {
        // Aborted or failed as it waited: nothing of the input is to be stored.
        return await next(context.cut === 'aborted' ? undefined : input, context);
      } finally {
        release?.();
      }
    },
  };
}

/** Nothing where an abort, an interrupt or a full queue ended the wait. */
async function enter(semaphore: Semaphore, context: RunContext): Promise<Release | undefined> {
  if (context.cut) return undefined;
  try {
    return await semaphore.acquire(context.signal);
  } catch (error) {
    if (!context.cut) context.fail(AgentError.from(error));
    return undefined;
  }
}
