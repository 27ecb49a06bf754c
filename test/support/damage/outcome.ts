import { AgentError, type SessionMemory, type SessionMemoryOptions } from '@isoloop/core';
import { historyFaults } from '../history-faults.ts';

/**
 * What reading a changed store leads to: the `same` conversation, an error that is `reported`, or
 * one of four faults. A reported error names a changed record.
 */
export type Outcome = 'same' | 'reported' | 'silent' | 'unnamed' | 'raw' | 'invalid';

export type Open = (options: Pick<SessionMemoryOptions, 'onDamage'>) => SessionMemory;

/** Returns the conversation of a session and the state of its calls, as text. */
export async function readSession(memory: SessionMemory): Promise<string> {
  const { messages, calls, openRunId, endReason, summary, state } = await memory.view();
  return JSON.stringify([messages, [...calls], openRunId, endReason, summary, state]);
}

/** Reads a session without `onDamage` and judges the result. */
export async function outcomeOf(
  open: Open,
  expected: string,
  changed: readonly string[],
): Promise<Outcome> {
  try {
    return (await readSession(open({}))) === expected ? 'same' : 'silent';
  } catch (error) {
    return judgeError(error, changed);
  }
}

/** Reads a session with `onDamage` and judges the result. */
export async function outcomeOfRest(
  open: Open,
  expected: string,
  changed: readonly string[],
): Promise<Outcome> {
  const errors: unknown[] = [];
  const memory = open({ onDamage: (error) => void errors.push(error) });
  try {
    const seen = await readSession(memory);
    for (const error of errors) {
      const outcome = judgeError(error, changed);
      if (outcome !== 'reported') return outcome;
    }
    if (seen === expected) return 'same';
    if (errors.length === 0) return 'silent';
    const { messages, calls } = await memory.view();
    return historyFaults(messages, [...calls.keys()]).length > 0 ? 'invalid' : 'reported';
  } catch (error) {
    return judgeError(error, changed);
  }
}

function judgeError(error: unknown, changed: readonly string[]): Outcome {
  if (!AgentError.is(error)) return 'raw';
  const isRaw = error.code === 'INTERNAL' || error.cause instanceof TypeError;
  if (isRaw || (error.cause instanceof SyntaxError && error.message === error.cause.message))
    return 'raw';
  // The head of another history names records that are not in the store, so another key of the same
  // session is accepted too.
  const records = changed.map((key) => key.replace(/head$/, '').replace(/:\d+$/, ''));
  return records.some((key) => error.message.includes(key)) ? 'reported' : 'unnamed';
}
