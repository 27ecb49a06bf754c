import { AgentError, checkFields, checkOptions } from '../../error/agent-error.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { parentRuns } from '../../tool/context-token.ts';

/** How many callers of a `Semaphore` may wait. */
export interface SemaphoreOptions {
  /**
   * Maximum number of waiting callers. A further caller fails with `OVERLOADED`. Default: no limit.
   */
  readonly maxWaiting?: number;
}

/** Function that frees a slot in a `Semaphore`. Further calls do nothing. */
export type Release = () => void;

/**
 * Lets a fixed number of agent calls run at the same time, with `concurrencyLimit()`. Callers get a
 * slot in the order of their requests.
 *
 * @example
 * const shared = new Semaphore(10); // for several agents
 * const agent = new ReActAgent({ name: 'a', model, use: [concurrencyLimit(shared)] });
 */
export class Semaphore {
  readonly size: number;
  readonly #maxWaiting: number;
  /** Waiting callers, in the order of their requests. Each function gives its caller a slot. */
  readonly #waiting: Set<() => void> = new Set();
  #takenCount = 0;

  /** Throws `CONFIGURATION` unless `size` is a whole number of 1 or more, or `Infinity`. */
  constructor(size: number, options: SemaphoreOptions = {}) {
    checkOptions(
      'Semaphore',
      { ...options, size },
      'size:natural|Infinity maxWaiting:nonNegative|?',
    );
    this.size = size;
    this.#maxWaiting = options.maxWaiting ?? Infinity;
  }

  get free(): number {
    return this.size - this.#takenCount;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until a slot is free and takes it. Rejects at once with `OVERLOADED` if the queue is
   * full. Rejects with the signal's reason when the signal aborts.
   */
  acquire(signal?: AbortSignal): Promise<Release> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.free) {
        this.#takenCount += 1;
        return resolve(this.#release());
      }
      if (this.waiting >= this.#maxWaiting) {
        const message = `All ${this.size} slots are taken, and ${this.waiting} calls wait.`;
        throw new AgentError('OVERLOADED', message, { retryable: true });
      }
      const leave = (): void => {
        this.#waiting.delete(enter);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        leave();
        reject(signal!.reason);
      };
      const enter = (): void => {
        leave();
        resolve(this.#release());
      };
      this.#waiting.add(enter);
      signal?.addEventListener('abort', onAbort);
    });
  }

  /**
   * Returns the function that frees a slot. A freed slot goes directly to the caller that has
   * waited longest, so that no later caller gets it first.
   */
  #release(): Release {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [enter] = this.#waiting;
      if (enter) enter();
      else this.#takenCount -= 1;
    };
  }
}

/**
 * Limits how many agent calls run at the same time. An agent call waits for a slot of the
 * semaphore and keeps the slot until it ends. Agents with the same semaphore share its slots. The
 * wait does not count toward `limits.timeoutMs` (Arc Reactor: `maxConcurrentRequests`). An abort or
 * interrupt during the wait ends the agent call without a model request. If the queue is full, the
 * agent call fails with `OVERLOADED`.
 *
 * An agent call keeps its slot while its reader does not read. An agent that runs as an
 * `agentTool` uses the slot of the agent that called it. If your own tool calls an agent, give
 * that agent another semaphore: the calling agent keeps its slot meanwhile. Throws `CONFIGURATION`
 * if `semaphore` is not a semaphore.
 */
export function concurrencyLimit(semaphore: Semaphore): Middleware {
  checkFields('concurrencyLimit()', { semaphore }, 'semaphore:acquire()');
  return {
    name: 'concurrencyLimit',
    wrapRun: (next) => async (input, context, steps) => {
      const holders = runsWithSlot(semaphore);
      const callerIds = (context.toolContext.get(parentRuns) ?? []) as readonly string[];
      if (callerIds.some((runId) => holders.has(runId))) return next(input);
      let release: Release | undefined;
      try {
        release = await steps.untimed(() => semaphore.acquire(context.stopSignal));
      } catch (error) {
        if (!context.stopped) throw error;
      }
      holders.add(context.runId);
      try {
        // After an abort during the wait, nothing of the agent call is stored.
        context.signal.throwIfAborted();
        return await next(input);
      } finally {
        holders.delete(context.runId);
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
