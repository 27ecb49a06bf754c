import type { AgentResult } from '../../event/agent-result.ts';
import { finishWith, resultOf } from '../ending.ts';
import type { AgentCall } from '../use/middleware.ts';
import type { Run } from './run.ts';
import { runOf } from './run-view.ts';

/**
 * Returns an `AgentCall` that ends when the run is aborted. `call` includes one wrapper. If the
 * wrapper hangs after an abort, the returned function does not wait for the wrapper, so that outer
 * wrappers can end.
 */
export function boundedCall(call: AgentCall): AgentCall {
  return async (input, context) => {
    const run = runOf(context);
    // A wrapper that hung may call `next` after the end of the run.
    run.throwIfOver();
    run.waits.depth += 1;
    const { depth } = run.waits;
    try {
      return await run.waits.code(call(input, context), { isHeld: () => run.waits.depth > depth });
    } catch (thrown) {
      if (!run.waits.isAbort(thrown)) throw thrown;
      run.over = true;
      return await cutOff(run);
    } finally {
      run.waits.depth = depth - 1;
    }
  };
}

/**
 * Ends a run that was aborted while a wrapper hung. Leaves out the answer, because the answer has
 * not passed all wrappers. Rejects with the run's failure, if there is one.
 */
export async function cutOff(run: Run): Promise<AgentResult> {
  run.waits.lenient = true;
  if (run.failure) throw run.failure;
  if (!run.closed) await run.close('aborted');
  return resultOf(run, finishWith(run, 'aborted'));
}
