import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { untimed } from '../../loop/run/call-timeout.ts';
import type { Middleware } from '../../loop/use/middleware.ts';
import type { RunContext } from '../../loop/run/run-context.ts';
import type { Release, Semaphore } from './semaphore.ts';

/**
 * Limits how many agent calls run at the same time. An agent call waits for a place of the
 * semaphore and keeps the place until it ends. Agents with the same semaphore share its places. The
 * wait does not count toward `limits.timeoutMs` (Arc Reactor: `maxConcurrentRequests`). An abort or
 * interrupt during the wait ends the agent call without a model request. If the queue is full, the
 * agent call fails with `OVERLOADED`.
 *
 * An agent call keeps its place while its reader does not read. Use another semaphore for an agent
 * that runs as a tool, because the calling agent keeps its own place. Throws `CONFIGURATION` if
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
        // The agent call was aborted or failed during the wait, so its input must not be stored.
        return await next(context.cut === 'aborted' ? undefined : input, context);
      } finally {
        release?.();
      }
    },
  };
}

/**
 * Waits for a place. Returns `undefined` if an abort, an interrupt or a full queue ends the wait.
 */
async function enter(semaphore: Semaphore, context: RunContext): Promise<Release | undefined> {
  if (context.cut) return undefined;
  try {
    return await untimed(context, () => semaphore.acquire(context.signal));
  } catch (error) {
    if (!context.cut) context.fail(AgentError.from(error));
    return undefined;
  }
}
