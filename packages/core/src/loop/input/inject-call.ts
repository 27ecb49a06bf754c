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
 * Has the running call take the messages of another call (`run`) in, once the guards let them pass.
 * Resolves with the running call's result. Resolves with the other call's own result if a guard
 * rejects its messages, or if it is aborted. Returns nothing if the running call ends without the
 * messages; the other call then needs a turn of its own.
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
