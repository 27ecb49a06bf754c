import type { AgentResult } from '../../event/agent-result.ts';
import { finishWith, resultOf } from '../ending.ts';
import type { AgentCall } from '../use/middleware.ts';
import type { Run } from './run.ts';
import { runOf } from './run-view.ts';

/**
 * Takes a call with one wrapper around it, and returns a call that ends when the run is aborted. If
 * the run is aborted while this wrapper hangs, the returned call does not wait for it. The outer
 * wrappers can then end, too.
 */
export function boundedCall(call: AgentCall): AgentCall {
  return async (input, context) => {
    const run = runOf(context);
    // A wrapper that was left behind may call `next` late.
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
 * Ends a run that was aborted while code around the loop hung. The answer, if there is one, has not
 * passed all wrappers and is left out. Rejects with the run's failure.
 */
export async function cutOff(run: Run): Promise<AgentResult> {
  run.waits.lenient = true;
  if (run.failure) throw run.failure;
  if (!run.closed) await run.close('aborted');
  return resultOf(run, finishWith(run, 'aborted'));
}
