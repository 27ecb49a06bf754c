import { AgentError } from '../../error/agent-error.ts';
import { timerMs } from '../../model/timer.ts';
import type { Run } from './run.ts';
import type { RunContext } from './run-context.ts';
import { runOf } from './run-view.ts';

/** Time limit of an agent call. `stop` pauses it, and `start` continues it. */
export class CallTimeout {
  readonly #now: () => number;
  readonly #onTimeout: () => void;
  #left: number;
  #since = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `timeoutMs`: `undefined` and 0 set no limit. */
  constructor(timeoutMs: number | undefined, now: () => number, onTimeout: () => void) {
    this.#left = timeoutMs || Infinity;
    this.#now = now;
    this.#onTimeout = onTimeout;
  }

  start(): void {
    if (this.#left === Infinity) return;
    this.#since = this.#now();
    this.#timer = setTimeout(this.#onTimeout, timerMs(this.#left));
  }

  stop(): void {
    if (this.#left === Infinity) return;
    clearTimeout(this.#timer);
    this.#left = Math.max(0, this.#left - (this.#now() - this.#since));
  }
}

/** Creates the time limit of a run. When the time is over, the run fails with `CALL_TIMEOUT`. */
export function callTimeout(run: Run): CallTimeout {
  const { options, now } = run.setup;
  const { timeoutMs } = options.limits ?? {};
  return new CallTimeout(timeoutMs, now, () => {
    const message = `The call took longer than ${timeoutMs} ms`;
    run.fail(new AgentError('CALL_TIMEOUT', message, { retryable: true }));
  });
}

/**
 * Returns the value of `work`. The time of `work` does not count toward the time limit of the agent
 * call.
 */
export async function untimed<T>(context: RunContext, work: () => Promise<T>): Promise<T> {
  const { timeout } = runOf(context);
  timeout.stop();
  try {
    return await work();
  } finally {
    timeout.start();
  }
}
