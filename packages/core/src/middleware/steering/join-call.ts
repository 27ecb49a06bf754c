import type { NewCall } from '../../agent/run/inbox.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import { abortables } from '../../model/abortable.ts';
import type { SteeredRun } from './steered-run.ts';

/**
 * Adds the messages of a second agent call to the running one, once its wrappers admit them.
 * Resolves with the result of the running call. Rejects if a wrapper rejects the messages, or the
 * second call is aborted. If the running call ends without the messages, resolves with `undefined`.
 * The second call then has to run on its own.
 */
export async function joinCall(
  run: SteeredRun,
  { input, result, signal, admit }: NewCall,
): Promise<AgentResult | undefined> {
  const injection = run.add(input.messages, admit);
  const nothing = (): undefined => undefined;
  const end = result.then(nothing, nothing);
  const rejection = injection.admitted.then(() => end);
  try {
    await abortables(signal)(Promise.race([rejection, end]));
  } catch (error) {
    injection.messages = [];
    throw error;
  }
  return injection.isTaken ? result : undefined;
}
