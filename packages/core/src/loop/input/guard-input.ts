import { AgentError } from '../../error/agent-error.ts';
import type { Msg } from '../../message/msg.ts';
import { checkNew } from './call-input.ts';
import type { Run } from '../run/run.ts';

/**
 * Passes messages through the guards. Rejects with the error of a guard that rejects them, and with
 * the signal's reason if the call is aborted.
 */
export async function guardInput(run: Run, input: readonly Msg[]): Promise<readonly Msg[]> {
  let given = input;
  for (const part of run.setup.use) {
    if (!part.guard) continue;
    // Even after an interrupt, every guard must judge the input.
    const judging = part.guard(given, run.guarding);
    const verdict = (await run.waits.code(judging)) ?? given;
    run.signal.throwIfAborted();
    if ('error' in verdict) throw AgentError.fromJSON(verdict.error);
    given = verdict;
  }
  return given;
}

/**
 * Takes messages into a run. If the agent has guards, the messages pass them first, but not before
 * the run's own input. Throws `INVALID_INPUT` for repeated messages.
 */
export function inject(run: Run, messages: readonly Msg[]): void {
  const { injections, setup } = run;
  checkNew(messages, [...run.view, ...injections.waiting]);
  const hasGuards = setup.use.some(({ guard }) => guard);
  const judging = (): Promise<readonly Msg[]> =>
    injections.opened.then(() => guardInput(run, messages));
  injections.add(messages, hasGuards ? judging() : undefined);
}
