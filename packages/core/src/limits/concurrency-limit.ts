import type { Middleware } from '../agent/middleware.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { withMethod } from '../error/options/kinds.ts';
import { parentRuns } from '../tool/context-token.ts';
import type { Release, Semaphore } from './semaphore.ts';

/**
 * Limits how many agent calls run at the same time. An agent call waits for a slot of the semaphore
 * and keeps the slot until it ends. Agents with the same semaphore share its slots. The wait does
 * not count toward `limits.timeoutMs`. An abort or interrupt during the wait ends the agent call
 * without a model request. If the queue is full, the agent call fails with `OVERLOADED`.
 *
 * An agent call keeps its slot while its reader does not read. An agent that runs as an `agentTool`
 * uses the slot of the agent that called it. If your own tool calls an agent, give that agent
 * another semaphore: the calling agent keeps its slot meanwhile. Throws `CONFIGURATION` if
 * `semaphore` is not a semaphore. Source: Arc Reactor, `maxConcurrentRequests`.
 */
export function concurrencyLimit(semaphore: Semaphore): Middleware {
  checkFields('concurrencyLimit()', { semaphore }, { semaphore: withMethod('acquire') });
  return {
    name: 'concurrencyLimit',
    wrapRun: async (input, next, run) => {
      const holders = runsWithSlot(semaphore);
      const callerIds = (run.tools.context.get(parentRuns) ?? []) as readonly string[];
      if (callerIds.some((runId) => holders.has(runId))) return next(input);
      let release: Release | undefined;
      try {
        release = await run.wait.untimed(() => semaphore.acquire(run.stopSignal));
      } catch (error) {
        if (!run.ending.stopped) throw error;
      }
      // A call that was paused during the wait runs its open tools. Their agents have no slot.
      if (release) holders.add(run.runId);
      try {
        // After an abort during the wait, nothing of the agent call is stored.
        run.signal.throwIfAborted();
        return await next(input);
      } finally {
        holders.delete(run.runId);
        release?.();
      }
    },
  };
}

/** Ids of the runs that have a slot, by semaphore. */
const slots: WeakMap<Semaphore, Set<string>> = new WeakMap();

function runsWithSlot(semaphore: Semaphore): Set<string> {
  const runIds = slots.get(semaphore) ?? new Set();
  slots.set(semaphore, runIds);
  return runIds;
}
