import type { WaitingCall } from '../../agent/agent.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import { abortables } from '../../model/abortable.ts';
import type { Injection } from './steered-run.ts';
import type { Steering } from './steering.ts';

/**
 * Adds the messages of a second agent call to the running one, once its wrappers admit them.
 * Resolves with the result of the running call. If a wrapper rejects the messages, or the second
 * call is aborted, resolves with the second call's own result. If the running call ends without the
 * messages, resolves with `undefined`. The second call then has to run on its own.
 */
export async function joinCall(
  use: readonly Middleware[],
  call: WaitingCall,
): Promise<AgentResult | undefined> {
  const { running, signal } = call;
  const steering = use.find(isSteering);
  if (!steering) return undefined;
  let injection: Injection;
  try {
    const run = steering.runOf(running);
    injection = run.add(call.input.messages, () => call.admit(), true);
  } catch (error) {
    return call.end(AgentError.from(error));
  }
  const nothing = (): undefined => undefined;
  const refusal = injection.admitted.then(nothing, (error: unknown) => AgentError.from(error));
  const end = call.result.then(nothing, nothing);
  const within = abortables(signal);
  try {
    const refused = await within(Promise.race([refusal, end]));
    if (refused) return await call.end(refused);
    await within(end);
  } catch (error) {
    if (!signal.aborted) throw error;
    injection.messages = [];
    return call.end();
  }
  return injection.isTaken ? call.result : undefined;
}

function isSteering(part: Middleware): part is Steering {
  return 'runOf' in part;
}
