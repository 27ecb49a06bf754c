import type { Middleware } from '../../agent/middleware.ts';
import { isEnding, isNewAnswer, type Answer, type Next } from '../../agent/next.ts';
import { perRun } from '../../agent/per-run.ts';
import type { RunContext } from '../../agent/run-context.ts';
import { takePause } from '../../agent/run/interruption.ts';
import type { CheckedRequest } from '../../event/interrupt-request.ts';
import { SteeredRun } from './steered-run.ts';

declare module '../../agent/kernel-options.ts' {
  interface FeatureOptions {
    /**
     * Whether `interrupt({ mode: 'pause' })` without a running agent call pauses the next one before
     * its first model request. Default: false; `interrupt` then does nothing.
     */
    readonly pauseWhenIdle?: boolean;
  }
}

export interface Steering extends Middleware {
  /** Returns what others have added to a run, also before it begins. */
  runOf(context: RunContext): SteeredRun;
}

/**
 * Lets others steer a running agent call: pause it, and add messages to it. `ReActAgent` has this
 * middleware. It handles the modes `pause` and `inject` of `interrupt()`, and `whenBusy: 'inject'`.
 */
export function steering(): Steering {
  const runOf = perRun((context, steps) => new SteeredRun(context, steps));
  return {
    name: 'steering',
    runOf,
    wrapRun: (next) => (input, context, steps) => {
      const run = runOf(context);
      steps.onInterrupt((request) => take(run, request));
      return next(input);
    },
    wrapSettle: (next) => async (input, context) => {
      const first = await next(input);
      const run = runOf(context);
      run.open();
      return beforeModel(run, first);
    },
    wrapReply: (next) => async (reply, context) => {
      const made = await next(reply);
      const run = runOf(context);
      return isNewAnswer(made) ? afterAnswer(run, made) : beforeModel(run, made);
    },
    wrapRound: (next) => async (round, context) => {
      const made = await next(round);
      return beforeModel(runOf(context), made);
    },
  };
}

/** Carries out a request of `interrupt()`. A plain interrupt is left to the loop. */
function take(run: SteeredRun, request: CheckedRequest): boolean | undefined {
  if (request.mode === 'pause') {
    run.steps.stopWith({ reason: 'suspended' });
    return true;
  }
  if (request.mode !== 'inject') return undefined;
  const { messages } = request;
  run.add(messages, () => run.steps.admit({ messages, decisions: [], from: 'join' }));
  return true;
}

/** Pauses the run or appends the messages that came in, if the model is asked next. */
function beforeModel(run: SteeredRun, next: Next): Next | Promise<Next> {
  const { context, steps } = run;
  if (isEnding(next) || next.to !== 'model' || context.stopped) return next;
  if (takePause(context)) {
    steps.stopWith({ reason: 'suspended' });
    return next;
  }
  return run.hasMessages ? run.take().then(() => next) : next;
}

/** Lets the run go on after an answer if messages have come in. */
async function afterAnswer(run: SteeredRun, answer: Answer): Promise<Next> {
  const { context, steps } = run;
  if (!run.hasMessages) return answer;
  await run.judged(context.stopSignal);
  if (context.stopped) return steps.endStopped(answer.message);
  if (!run.hasMessages) return answer;
  await steps.append([answer.message]);
  return beforeModel(run, { to: 'model' });
}
