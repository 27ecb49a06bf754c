import { AgentError } from '../error/agent-error.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { ParsedInput } from '../event/agent-input.ts';
import type { RunDriver } from '../event/readers/run-driver.ts';
import { abortable } from '../wait/abort.ts';
import { markHandled } from '../wait/mark-handled.ts';
import { runAgentCall } from './agent-call.ts';
import type { AgentSettings } from './kernel-options.ts';
import type { LiveRun } from './run/live-run.ts';
import { admitInput, type RunInput } from './step/settle.ts';

/** An agent call that runs or waits for its turn. */
export interface BegunCall extends RunInput {
  readonly live: LiveRun;
  readonly driver: RunDriver;
  /** Called when the call is the running one. */
  readonly onStart: (() => void) | undefined;
  admitted?: Promise<ParsedInput>;
}

/**
 * The calls of one agent: one runs, and later ones are refused or wait in line. The way of a call:
 * `Agent.#start` → `RunDriver`, which starts it at the first read → its place here →
 * `runAgentCall`, which sends the events around it → `loop`.
 */
export class CallLine {
  readonly #options: Pick<AgentSettings, 'name' | 'whenBusy'>;
  #running: BegunCall | undefined;
  /** What runs or waits for its turn: the results of the calls, and work between them. */
  readonly #results: Set<Promise<unknown>> = new Set();

  constructor(options: Pick<AgentSettings, 'name' | 'whenBusy'>) {
    this.#options = options;
  }

  /** The run of the call whose turn it is. */
  get live(): LiveRun | undefined {
    return this.#running?.live;
  }

  get isBusy(): boolean {
    return this.#results.size > 0;
  }

  /** The error for a new call if it is refused because another one runs. */
  get #refusal(): AgentError | undefined {
    const { name, whenBusy } = this.#options;
    if (!this.isBusy || whenBusy !== 'reject') return undefined;
    const message = `The agent "${name}" is busy. Await its call, or set whenBusy.`;
    return new AgentError('AGENT_BUSY', message);
  }

  /** Does work after the end of all calls so far. Later calls wait for it, or are refused. */
  async workInLine(work: () => Promise<void>): Promise<void> {
    if (this.#refusal) throw this.#refusal;
    const done = Promise.allSettled(this.#results).then(work);
    this.#results.add(done);
    await done.finally(() => this.#results.delete(done));
  }

  /**
   * Runs an agent call when all calls before it have ended. Resolves with the result of the
   * running call if that one takes the input.
   */
  async runInLine(call: BegunCall): Promise<AgentResult> {
    const { live, driver } = call;
    live.begin((events) => driver.push(events));
    try {
      if (this.#refusal) live.halt.haltWith(this.#refusal);
      const { failure } = live.halt;
      if (failure && live.callOptions.throwOnError !== false) throw failure;
      if (failure) return await this.#endRefused(live);
      const earlier = this.isBusy && Promise.allSettled(this.#results);
      this.#results.add(driver.result);
      const early = earlier && (await this.#waitInLine(call, earlier));
      if (early) return early;
      this.#running = call;
      // While the call waited, `addHook` did not reach it.
      live.hooks.refresh();
      call.onStart?.();
      return await runAgentCall(live, call);
    } finally {
      live.end();
      this.#results.delete(driver.result);
      if (this.#running === call) this.#running = undefined;
    }
  }

  /**
   * Waits for the end of earlier calls. Resolves with a result if the call gets no turn. Then the
   * running call has taken its input, or it was refused or aborted.
   */
  async #waitInLine(call: BegunCall, earlier: Promise<unknown>): Promise<AgentResult | undefined> {
    const { live, sent } = call;
    const { callOptions: options } = live;
    const { signal } = live.halt;
    const running = this.#running;
    try {
      if (running?.live.halt.stage === 'running') {
        const { result } = running.driver;
        const admit = (): Promise<ParsedInput> => {
          call.admitted ??= markHandled(admitInput(live.wrappers, sent));
          return call.admitted;
        };
        const offer = { input: sent, options, signal, result, admit };
        const joined = await running.live.inbox.join(offer, earlier);
        if (joined) return joined;
      }
      await abortable(earlier, signal);
      return undefined;
    } catch (error) {
      if (!live.halt.aborted) live.halt.haltWith(AgentError.from(error));
      return this.#endRefused(live);
    }
  }

  /** Ends a call that was refused, or aborted while it waited. */
  #endRefused(live: LiveRun): Promise<AgentResult> {
    // It takes no interrupts.
    live.halt.enterStage('finishing');
    return runAgentCall(live);
  }
}
