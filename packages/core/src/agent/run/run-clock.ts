import type { AgentError } from '../../error/agent-error.ts';
import { CallTimeout } from '../../wait/call-timeout.ts';
import { TimerYield } from '../../wait/timer-yield.ts';
import type { AgentSettings } from '../kernel-options.ts';

/** The clocks of a run, its time limit, and the pauses that let timers run. */
export class RunClock {
  readonly now: () => number;
  readonly monotonicNow: () => number;
  /** Begin of the run, by `monotonicNow`. */
  readonly startedAt: number;
  readonly timeout: CallTimeout;
  readonly #timerYield: TimerYield;

  constructor({ now, monotonicNow, limits }: AgentSettings, onTimeout: (e: AgentError) => void) {
    this.now = now;
    this.monotonicNow = monotonicNow;
    this.startedAt = monotonicNow();
    this.timeout = new CallTimeout({ timeoutMs: limits.timeoutMs, now: monotonicNow, onTimeout });
    this.#timerYield = new TimerYield(this.startedAt);
  }

  /** Counts work. Returns a promise to wait for if timers have not run for a while. */
  tick(ticks: number): Promise<void> | undefined {
    return this.#timerYield.tick(this.monotonicNow(), ticks);
  }
}
