import type { AgentErrorData } from '../../error/agent-error.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';
import type { Msg } from '../../message/msg.ts';
import type { HaltReason } from '../../wait/halt.ts';
import type { CustomReason, Ending, Next } from '../next.ts';
import type { LiveRun } from '../run/live-run.ts';
import { endStopped } from '../step/finish.ts';
import { afterReply } from '../step/reason.ts';
import type { Run } from './run.ts';
import { step } from './step.ts';

/** How a run ends. */
export interface RunEnding {
  /**
   * Reason why the run ends before its answer. `undefined` if nothing has stopped the run. Works
   * everywhere.
   */
  readonly stopped: HaltReason | undefined;
  /**
   * Stops everything at once, as an abort does. The agent call fails with this error, or with
   * `INTERNAL` if it is not an `AgentError`. Works in wrappers, hooks and tools. Has no effect from
   * `run-end` on.
   */
  fail(error: unknown): void;
  /**
   * Interrupts this run, as `agent.interrupt()` does. Works in wrappers, hooks and tools. Returns
   * false if the run is about to end.
   */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
  /**
   * Ends the run at its next interrupt point as suspended. Its open tool calls stay open. Works in
   * wrappers, hooks and tools. A middleware that handles a pause needs it.
   */
  suspend(): void;
  /**
   * Returns the end of a run that was interrupted, paused or aborted. Stores `partial`, the part of
   * a reply that readers have. Works in wrappers, if `stopped` is set: return its value.
   */
  whenStopped(partial?: Msg): Promise<Ending>;
  /**
   * Passes a message that no model wrote through `wrapReply`, as if it were a reply. Works in
   * wrappers: return its value.
   */
  reply(message: Msg, reason: CustomReason): Promise<Next>;
  /**
   * Runs `work` before the log gets the end of the run. If it fails, the agent call fails. Works in
   * wrappers, hooks and tools. After `next` of `wrapRun`, the log has the end, so `work` does not
   * run.
   */
  before(work: (run: Run) => Promise<void>): void;
  /**
   * Adds to the result of the agent call. `warning`: an error after which the run continues.
   * `failureMessage`: the message of the result in case the agent call fails later. The first one
   * counts. Works in wrappers, hooks and tools.
   */
  addToResult(more: { readonly warning?: AgentErrorData; readonly failureMessage?: Msg }): void;
}

/** Returns the ending of a run. */
export function endingOf(run: LiveRun): RunEnding {
  return {
    get stopped() {
      return run.ending.stopped;
    },
    fail: (error) => run.notMapping().ending.fail(error),
    interrupt: (request) => run.notMapping().interrupt(request),
    suspend: () => run.alive().ending.stopWith({ kind: 'suspended' }),
    whenStopped: (partial) => step(run, () => endStopped(run, partial)),
    reply: (message, reason) => step(run, () => afterReply(run, { message, reason })),
    before: (work) => void run.alive().log.beforeEnd.push(work),
    addToResult({ warning, failureMessage }) {
      run.alive().totals.failureMessage ??= failureMessage;
      if (warning) run.totals.warnings.push(warning);
    },
  };
}
