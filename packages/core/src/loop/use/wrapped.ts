import type { ChatModel } from '../../model/chat-model.ts';
import { isSuspension, type RunCall } from '../../tool/run-call.ts';
import { interruptedResult, wrappedResult } from '../../tool/tool-result.ts';
import type { DirectAnswer } from '../direct-answer.ts';
import type { OnLimit } from '../limit.ts';
import type { LoopSteps } from '../loop-steps.ts';
import type { RunContext } from '../run/run-context.ts';
import { runOf } from '../run/run-view.ts';
import { Waits } from '../run/waits.ts';
import { checkReturn } from './check-return.ts';
import type { AgentCall, Middleware } from './middleware.ts';

/** What middleware can wrap, by the name of the wrapper. */
interface Wrapped {
  readonly wrapRun: AgentCall;
  readonly wrapModel: ChatModel;
  readonly wrapTool: RunCall;
  readonly wrapAnswer: DirectAnswer;
  readonly wrapLimit: OnLimit;
}

/**
 * Wraps an agent call, a model or another part of an agent in the middleware. The first middleware
 * is the outermost wrapper. Each wrapper has its own bound. If a wrapper hangs after an abort, the
 * outer wrappers still end and can release their resources. Throws `CONFIGURATION` if a wrapper
 * does not return the kind of value that it wraps.
 */
export function wrapped<K extends keyof Wrapped>(
  use: readonly Middleware[],
  key: K,
  inner: Wrapped[K],
  bounded: (made: Wrapped[K]) => Wrapped[K],
): Wrapped[K] {
  const kind = typeof inner === 'function' ? 'function' : 'stream()';
  return use.reduceRight((next, part) => {
    const wrap = part[key] as ((next: Wrapped[K]) => Wrapped[K]) | undefined;
    if (!wrap) return next;
    const made = wrap.call(part, next);
    checkReturn(key, made, kind);
    return bounded(made);
  }, inner);
}

export function boundedTool(runTool: RunCall): RunCall {
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

export function boundedSteps<T>(work: WithSteps<T | Promise<T>>): WithSteps<Promise<T>> {
  return async (context, steps) => runOf(context).waits.steps(work(context, steps));
}
