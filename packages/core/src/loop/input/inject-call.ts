import { AgentError } from '../../error/agent-error.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { Msg } from '../../message/msg.ts';
import { abortables } from '../../model/abortable.ts';
import { checkNew } from './call-input.ts';
import { guardInput } from './guard-input.ts';
import { perform } from '../perform.ts';
import type { Run } from '../run/run.ts';

export interface RunningCall {
  readonly run: Run;
  readonly result: Promise<AgentResult>;
}

/**
 * Adds the messages of a second agent call (`run`) to the running agent call, once the guards
 * accept them. Resolves with the result of the running call. If a guard rejects the messages, or
 * the second call is aborted, resolves with the second call's own result. If the running call ends
 * without the messages, resolves with `undefined`. The second call then has to run on its own.
 */
export async function injectCall(
  running: RunningCall,
  run: Run,
  messages: readonly Msg[],
): Promise<AgentResult | undefined> {
  try {
    checkNew(messages, [...running.run.view, ...running.run.injections.waiting]);
  } catch (error) {
    return perform(run, undefined, AgentError.from(error));
  }
  const guarded = running.run.injections.opened.then(
    () => (run.guarded = guardInput(run, messages)),
  );
  const injection = running.run.injections.add(messages, guarded, true);
  const within = abortables(run.signal);
  const nothing = (): undefined => undefined;
  const refusal = guarded.then(nothing, (error: unknown) => AgentError.from(error));
  const end = running.result.then(nothing, nothing);
  try {
    const refused = await within(Promise.race([refusal, end]));
    if (refused) return await perform(run, undefined, refused);
    await within(end);
  } catch (error) {
    if (!run.signal.aborted) throw error;
    injection.messages = [];
    return perform(run, undefined);
  }
  return injection.isTaken ? running.result : undefined;
}
