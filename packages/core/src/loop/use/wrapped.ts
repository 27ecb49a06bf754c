import { boundedModel, type ModelBounds } from '../../model/bounded-model.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import { isSuspension, type RunCall } from '../../tool/run-call.ts';
import { interruptedResult, wrappedResult } from '../../tool/tool-result.ts';
import type { DirectAnswer } from '../direct-answer.ts';
import type { OnLimit } from '../limit.ts';
import type { LoopSteps } from '../loop-steps.ts';
import { boundedCall } from '../run/bounded-call.ts';
import type { RunContext } from '../run/run-context.ts';
import { runOf } from '../run/run-view.ts';
import { Waits } from '../run/waits.ts';
import type { AgentCall, Middleware } from './middleware.ts';

// Each wrapper has its own bound. If a wrapper hangs after an abort, the outer wrappers still end
// and can release their resources.

/**
 * Wraps an agent call in the middleware. In this file, the first middleware is always the outermost
 * wrapper.
 */
export function wrappedCall(use: readonly Middleware[], inner: AgentCall): AgentCall {
  return use.reduceRight(
    (next, part) => (part.wrapRun ? boundedCall(part.wrapRun(next)) : next),
    inner,
  );
}

export function wrappedModel(
  use: readonly Middleware[],
  model: ChatModel,
  bounds: ModelBounds,
): ChatModel {
  return use.reduceRight(
    (next, part) => (part.wrapModel ? boundedModel(part.wrapModel(next), bounds) : next),
    boundedModel(model, bounds),
  );
}

export function wrappedTools(use: readonly Middleware[], inner: RunCall): RunCall {
  return use.reduceRight(
    (next, part) => (part.wrapTool ? boundedTool(part.wrapTool(next)) : next),
    inner,
  );
}

export function wrappedAnswer(use: readonly Middleware[], inner: DirectAnswer): DirectAnswer {
  return use.reduceRight(
    (next, part) => (part.wrapAnswer ? boundedSteps(part.wrapAnswer(next)) : next),
    inner,
  );
}

export function wrappedLimit(use: readonly Middleware[], inner: OnLimit): OnLimit {
  return use.reduceRight(
    (next, part) => (part.wrapLimit ? boundedSteps(part.wrapLimit(next)) : next),
    inner,
  );
}

function boundedTool(runTool: RunCall): RunCall {
  return async (call, options) => {
    const { signal } = options;
    const waits = new Waits(signal);
    try {
      const outcome = await waits.code(runTool(call, options));
      return isSuspension(outcome) ? outcome : wrappedResult(call.toolUse, outcome);
    } catch (error) {
      if (waits.isAbort(error)) return interruptedResult(call.toolUse);
      throw error;
    } finally {
      waits.end();
    }
  };
}

type WithSteps<T> = (context: RunContext, steps: LoopSteps) => T;

function boundedSteps<T>(work: WithSteps<T | Promise<T>>): WithSteps<Promise<T>> {
  return async (context, steps) => runOf(context).waits.steps(work(context, steps));
}
