import { AgentError } from '../error/agent-error.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { ParsedInput } from '../event/agent-input.ts';
import type { RunDriver } from '../event/readers/run-driver.ts';
import { abortable } from '../wait/abort.ts';
import { runAgentCall } from './agent-call.ts';
import type { AgentSettings } from './kernel-options.ts';
import type { Run } from './run/run.ts';
import { admitInput, type RunInput } from './step/settle.ts';

/** An agent call that runs or waits for its turn. */
export interface BegunCall extends RunInput {
  readonly run: Run;
  readonly driver: RunDriver;
  admitted?: Promise<ParsedInput>;
}

/** The calls of one agent: one runs, and later ones are refused or wait for their turn. */
export class CallLine {
  readonly #options: Pick<AgentSettings, 'name' | 'whenBusy'>;
  #running: BegunCall | undefined;
  /** What runs or waits for its turn: the results of the calls, and work between them. */
  readonly #results: Set<Promise<unknown>> = new Set();

  constructor(options: Pick<AgentSettings, 'name' | 'whenBusy'>) {
    this.#options = options;
  }

  /** The run of the call whose turn it is. */
  get run(): Run | undefined {
    return this.#running?.run;
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
  async workInTurn(work: () => Promise<void>): Promise<void> {
    if (this.#refusal) throw this.#refusal;
    const done = Promise.allSettled(this.#results).then(work);
    this.#results.add(done);
    await done.finally(() => this.#results.delete(done));
  }

  /**
   * Runs an agent call when it is its turn, and calls `onTurn` then. Resolves with the result of the
   * running call if that one takes the input.
   */
  async runInTurn(call: BegunCall, onTurn: () => void): Promise<AgentResult> {
    const { run, driver } = call;
    run.begin((events) => driver.push(events));
    try {
      if (this.#refusal) run.haltWith(this.#refusal);
      const { failure } = run;
      if (failure && run.callOptions.throwOnError !== false) throw failure;
      if (failure) return await this.#runWithoutTurn(run);
      const earlier = this.isBusy && Promise.allSettled(this.#results);
      this.#results.add(driver.result);
      const early = earlier && (await this.#waitForTurn(call, earlier));
      if (early) return early;
      this.#running = call;
      // While the call waited, `addHook` did not reach it.
      run.hooks.refresh();
      onTurn();
      return await runAgentCall(run, call);
    } finally {
      run.end();
      this.#results.delete(driver.result);
      if (this.#running === call) this.#running = undefined;
    }
  }

  /**
   * Waits for the end of earlier calls. Resolves with a result if the call gets no turn. Then the
   * running call has taken its input, or it was refused or aborted.
   */
  async #waitForTurn(call: BegunCall, earlier: Promise<unknown>): Promise<AgentResult | undefined> {
    const { run, input } = call;
    const { signal, callOptions: options } = run;
    const running = this.#running;
    try {
      if (running?.run.stage === 'running') {
        const { result } = running.driver;
        const admit = (): Promise<ParsedInput> => (call.admitted ??= admitInput(run, input));
        const offer = { input, options, signal, result, admit };
        const joined = await running.run.inbox.join(offer, earlier);
        if (joined) return joined;
      }
      await abortable(earlier, signal);
      return undefined;
    } catch (error) {
      if (!run.aborted) run.haltWith(AgentError.from(error));
      return this.#runWithoutTurn(run);
    }
  }

  /** Ends a call that was refused, or aborted while it waited. */
  #runWithoutTurn(run: Run): Promise<AgentResult> {
    // It takes no interrupts.
    run.moveTo('ending');
    return runAgentCall(run);
  }
}
