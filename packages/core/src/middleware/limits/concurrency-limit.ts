import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { untimed } from '../../loop/run/call-timeout.ts';
import type { Middleware } from '../../loop/use/middleware.ts';
import type { RunContext } from '../../loop/run/run-context.ts';
import type { Release, Semaphore } from './semaphore.ts';

/**
 * Makes each call wait for a place of the semaphore and hold it until the call ends in any way.
 * Agents with the same semaphore share its places. The wait does not count toward
 * `limits.timeoutMs` (Arc Reactor: `maxConcurrentRequests`). An abort or interrupt ends the wait,
 * and then the call, without asking the model. If the queue is too long, the call fails with
 * `OVERLOADED`.
 *
 * A call whose reader stops reading holds its place. An agent that is called as a tool needs
 * another semaphore than its caller, which keeps its own place meanwhile. Throws `CONFIGURATION` if
 * `semaphore` is not a semaphore.
 */
export function concurrency(semaphore: Semaphore): Middleware {
  checkFields('CONFIGURATION', 'concurrency()', { semaphore }, 'semaphore:acquire()');
  return {
    name: 'concurrency',
    wrapRun: (next) => async (input, context) => {
      if (!input) return next(input, context);
      const release = await enter(semaphore, context);
      try {
        // The call was aborted or failed while it waited, so its input must not be stored.
        return await next(context.cut === 'aborted' ? undefined : input, context);
      } finally {
        release?.();
      }
    },
  };
}

/** Waits for a place; `undefined` if an abort, an interrupt or a full queue ended the wait. */
async function enter(semaphore: Semaphore, context: RunContext): Promise<Release | undefined> {
  if (context.cut) return undefined;
  try {
    return await untimed(context, () => semaphore.acquire(context.signal));
  } catch (error) {
    if (!context.cut) context.fail(AgentError.from(error));
    return undefined;
  }
}
