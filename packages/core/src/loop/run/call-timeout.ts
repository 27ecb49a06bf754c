import { AgentError } from '../../error/agent-error.ts';
import { longestTimeout } from '../../model/deadline.ts';
import type { Run } from './run.ts';
import type { RunContext } from './run-context.ts';
import { runOf } from './run-view.ts';

/** The time limit of a call. It can be paused. */
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
    this.#timer = setTimeout(this.#onTimeout, Math.min(this.#left, longestTimeout));
  }

  stop(): void {
    if (this.#left === Infinity) return;
    clearTimeout(this.#timer);
    this.#left = Math.max(0, this.#left - (this.#now() - this.#since));
  }
}

/** Creates the limit of a run. At its end the run fails with `CALL_TIMEOUT`. */
export function callTimeout(run: Run): CallTimeout {
  const { options, now } = run.setup;
  const { timeoutMs } = options.limits ?? {};
  return new CallTimeout(timeoutMs, now, () => {
    const message = `The call took longer than ${timeoutMs} ms`;
    run.fail(new AgentError('CALL_TIMEOUT', message, { retryable: true }));
  });
}

/** Returns the work's value. The time it takes does not count toward the call's limit. */
export async function untimed<T>(context: RunContext, work: () => Promise<T>): Promise<T> {
  const { timeout } = runOf(context);
  timeout.stop();
  try {
    return await work();
  } finally {
    timeout.start();
  }
}
