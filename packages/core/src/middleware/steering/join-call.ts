import type { WaitingCall } from '../../agent/agent.ts';
import { checkNew } from '../../agent/call-input.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import { abortables } from '../../model/abortable.ts';
import type { Steering } from './steering.ts';
import { storeAtEnd } from './steering.ts';

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
  const injections = steering.injectionsOf(running.runId);
  const { messages } = call.input;
  try {
    checkNew(messages, [...running.messages, ...injections.waiting]);
  } catch (error) {
    return call.end(AgentError.from(error));
  }
  const admitted = injections.opened.then(() => call.admit());
  const injection = injections.add(
    messages,
    admitted.then((input) => input.messages),
    true,
  );
  storeAtEnd(injections, call.steps);
  const within = abortables(signal);
  const nothing = (): undefined => undefined;
  const refusal = admitted.then(nothing, (error: unknown) => AgentError.from(error));
  const ended = (): void => steering.forget(running.runId);
  const end = call.result.then(ended, ended);
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
  return 'injectionsOf' in part;
}
