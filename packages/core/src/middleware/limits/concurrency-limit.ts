import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Middleware, RunContext, Steps } from '../../agent/middleware.ts';
import { parentRuns } from '../../tool/parent-runs.ts';
import type { Release, Semaphore } from './semaphore.ts';

/**
 * Limits how many agent calls run at the same time. An agent call waits for a place of the
 * semaphore and keeps the place until it ends. Agents with the same semaphore share its places. The
 * wait does not count toward `limits.timeoutMs` (Arc Reactor: `maxConcurrentRequests`). An abort or
 * interrupt during the wait ends the agent call without a model request. If the queue is full, the
 * agent call fails with `OVERLOADED`.
 *
 * An agent call keeps its place while its reader does not read. An agent that runs as an
 * `agentTool` uses the place of the agent that called it. If your own tool calls an agent, give
 * that agent another semaphore: the calling agent keeps its place meanwhile. Throws `CONFIGURATION`
 * if `semaphore` is not a semaphore.
 */
export function concurrency(semaphore: Semaphore): Middleware {
  checkFields('concurrency()', { semaphore }, 'semaphore:acquire()');
  return {
    name: 'concurrency',
    wrapRun: (next) => async (input, context, steps) => {
      const inside = runsWithPlace(semaphore);
      const above = (context.toolContext.get(parentRuns) ?? []) as readonly string[];
      if (above.some((runId) => inside.has(runId))) return next(input);
      const release = await enter(semaphore, context, steps);
      inside.add(context.runId);
      try {
        // After an abort during the wait, nothing of the agent call is stored.
        context.signal.throwIfAborted();
        return await next(input);
      } finally {
        inside.delete(context.runId);
        release?.();
      }
    },
  };
}

/** Ids of the runs that have a place, by semaphore. */
const places: WeakMap<Semaphore, Set<string>> = new WeakMap();

function runsWithPlace(semaphore: Semaphore): Set<string> {
  const known = places.get(semaphore) ?? new Set();
  places.set(semaphore, known);
  return known;
}

/**
 * Waits for a place. Returns `undefined` if an abort, an interrupt or a full queue ends the wait.
 */
async function enter(
  semaphore: Semaphore,
  context: RunContext,
  steps: Steps,
): Promise<Release | undefined> {
  if (context.stopped) return undefined;
  try {
    return await steps.untimed(() => semaphore.acquire(context.stopSignal));
  } catch (error) {
    if (!context.stopped) context.fail(AgentError.from(error));
    return undefined;
  }
}
