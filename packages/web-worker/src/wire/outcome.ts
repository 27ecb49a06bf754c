import { AgentError } from '@isoloop/core';
import type { Outcome } from './protocol.ts';

export async function toOutcome<T>(promise: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await promise };
  } catch (error) {
    return { ok: false, error: AgentError.from(error).toJSON() };
  }
}

export function fromOutcome<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value;
  throw AgentError.fromJSON(outcome.error);
}
