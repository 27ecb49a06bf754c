import { AgentError } from '../../error/agent-error.ts';
import type { Msg } from '../../message/msg.ts';
import type { Decision } from '../../event/pending-call.ts';
import { checkNew, type CallInput } from './call-input.ts';
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

/** The input of an agent call after the guards. */
export interface JudgedInput extends CallInput {
  /** The decisions in the call's options. */
  readonly beside: readonly Decision[];
}

/**
 * Passes all that a client sent and the model will read through the guards, once. This is the
 * messages, the texts of decisions, the call's instructions and its `claims`. Adds the instructions
 * to the run.
 */
export async function guardCall(run: Run, input: CallInput): Promise<JudgedInput> {
  if (run.guarded) return { ...input, messages: await run.guarded, beside: [] };
  const { instructions = [], claims = [], decisions: given = [] } = run.options;
  const decisions = [...input.decisions, ...given];
  const { claims: claimsOf } = run.setup.use.find((part) => part.claims) ?? {};
  const all = [...claims, ...(claimsOf?.(decisions, run.setup) ?? [])];
  const others = [...instructions, ...all.map(({ message }) => message)];
  const judged = await guardInput(run, [...others, ...input.messages]);
  const byId = new Map(judged.map((message) => [message.id, message]));
  for (const { message, take } of all) {
    const left = byId.get(message.id);
    if (left && left !== message) await take(left);
  }
  run.recalled.push(...instructions.flatMap(({ id }) => byId.get(id) ?? []));
  const ids = new Set(others.map(({ id }) => id));
  const beside = decisions.splice(input.decisions.length);
  return { messages: judged.filter(({ id }) => !ids.has(id)), decisions, beside };
}

/**
 * Adds messages to a running agent call. If the agent has guards, they judge the call's own input
 * first, then these messages. Throws `INVALID_INPUT` for a message that the conversation already
 * has.
 */
export function inject(run: Run, messages: readonly Msg[]): void {
  const { injections, setup } = run;
  checkNew(messages, [...run.view, ...injections.waiting]);
  const judging = (): Promise<readonly Msg[]> =>
    injections.opened.then(() => guardInput(run, messages));
  const hasGuards = setup.use.some(({ guard }) => guard);
  injections.add(messages, hasGuards ? judging() : undefined);
}
