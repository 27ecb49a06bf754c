import { AgentError } from '../../error/agent-error.ts';
import type { Msg } from '../../message/msg.ts';
import { checkNew } from './call-input.ts';
import type { Run } from '../run/run.ts';

/**
 * Passes messages through the guards and returns the messages that the last guard returned. Rejects
 * with the guard's error if a guard rejects the messages. Rejects with the signal's reason if the
 * agent call is aborted.
 */
export async function guardInput(run: Run, input: readonly Msg[]): Promise<readonly Msg[]> {
  let given = input;
  for (const part of run.setup.use) {
    if (!part.guard) continue;
    // Every guard must judge the input, even after an interrupt.
    const judging = part.guard(given, run.guarding);
    const verdict = (await run.waits.code(judging)) ?? given;
    run.signal.throwIfAborted();
    if ('error' in verdict) throw AgentError.fromJSON(verdict.error);
    given = verdict;
  }
  return given;
}

/**
 * Passes the instructions and the messages of an agent call through the guards. Adds the
 * instructions to the run and returns the messages.
 */
export async function guardCall(run: Run, messages: readonly Msg[]): Promise<readonly Msg[]> {
  const { instructions = [] } = run.options;
  const given = await guardInput(run, [...instructions, ...messages]);
  const ids = new Set(instructions.map(({ id }) => id));
  run.recalled.push(...given.filter(({ id }) => ids.has(id)));
  return given.filter(({ id }) => !ids.has(id));
}

/**
 * Adds messages to a running agent call. If the agent has guards, they judge the call's own input
 * first, then these messages. Throws `INVALID_INPUT` for a message that the conversation already
 * has.
 */
export function inject(run: Run, messages: readonly Msg[]): void {
  const { injections, setup } = run;
  checkNew(messages, [...run.view, ...injections.waiting]);
  const hasGuards = setup.use.some(({ guard }) => guard);
  const judging = (): Promise<readonly Msg[]> =>
    injections.opened.then(() => guardInput(run, messages));
  injections.add(messages, hasGuards ? judging() : undefined);
}
