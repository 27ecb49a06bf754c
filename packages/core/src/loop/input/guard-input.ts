import { AgentError } from '../../error/agent-error.ts';
import type { Msg } from '../../message/msg.ts';
import { asOwn } from '../../message/own-message.ts';
import type { Decision } from '../../event/pending-call.ts';
import { checkNew, type CallInput } from './call-input.ts';
import type { Claim } from './claim.ts';
import type { Run } from '../run/run.ts';
import { checkReturn } from '../use/check-return.ts';
import type { Rejection } from '../use/middleware.ts';

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
    if ('error' in Object(verdict)) throw AgentError.fromJSON((verdict as Rejection).error);
    checkReturn('guard', verdict, 'array');
    given = verdict as readonly Msg[];
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
  const { instructions = [], claims = [], decisions: given = [] } = run.options;
  const decisions = [...input.decisions, ...given];
  const all = [...claims, ...claimsOf(run, decisions)];
  for (const message of instructions) {
    all.push({ message, take: (left) => void (left && run.recalled.push(asOwn(left))) });
  }
  const messages = await (run.guarded ?? judge(run, all, input.messages));
  const beside = decisions.splice(input.decisions.length);
  return { messages, decisions, beside };
}

/**
 * Returns claims for the texts of decisions, or none without guards. The guards may change the
 * decisions in the list.
 */
export function claimsOf({ setup }: Run, decisions: Decision[]): readonly Claim[] {
  return setup.use.find(({ claims }) => claims)?.claims?.(decisions, setup) ?? [];
}

/** Passes claims and messages through the guards together. Returns the messages. */
export async function judge(
  run: Run,
  claims: readonly Claim[],
  messages: readonly Msg[] = [],
): Promise<readonly Msg[]> {
  const judged = await guardInput(run, [...claims.map(({ message }) => message), ...messages]);
  const byId = new Map(judged.map((message) => [message.id, message]));
  const ids = new Set<string>();
  for (const { message, take } of claims) {
    ids.add(message.id);
    await take(byId.get(message.id));
  }
  return judged.filter(({ id }) => !ids.has(id));
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
  const judged = hasGuards ? injections.opened.then(() => guardInput(run, messages)) : undefined;
  injections.add(messages, judged);
}
