import { checkNew } from '../../agent/call-input.ts';
import type { Middleware } from '../../agent/middleware.ts';
import { isEnding, isNewAnswer, type Next } from '../../agent/next.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';
import type { Msg } from '../../message/msg.ts';
import { Injections } from './injections.ts';

declare module '../../agent/kernel-options.ts' {
  interface FeatureOptions {
    /**
     * Whether `interrupt({ mode: 'pause' })` without a running agent call pauses the next one before
     * its first model request. Default: false; `interrupt` then does nothing.
     */
    readonly pauseWhenIdle?: boolean;
  }
}

/** A running agent call that others may steer. */
interface SteeredRun {
  readonly context: RunContext;
  readonly steps: Steps;
  readonly injections: Injections;
}

export interface Steering extends Middleware {
  /** Returns the messages that come in during a run, also before it begins. */
  injectionsOf(runId: string): Injections;
  /** Forgets the messages of a run that has ended. */
  forget(runId: string): void;
}

/**
 * Lets others steer a running agent call: pause it, and add messages to it. `ReActAgent` has this
 * middleware. It handles the modes `pause` and `inject` of `interrupt()`, and `whenBusy: 'inject'`.
 */
export function steering(): Steering {
  const runs = new Map<string, SteeredRun>();
  const injectionsByRun = new Map<string, Injections>();
  const injectionsOf = (runId: string): Injections => {
    const known = injectionsByRun.get(runId) ?? new Injections();
    injectionsByRun.set(runId, known);
    return known;
  };
  const forget = (runId: string): void => {
    runs.delete(runId);
    injectionsByRun.delete(runId);
  };
  return {
    name: 'steering',
    injectionsOf,
    forget,
    wrapRun: (next) => async (input, context, steps) => {
      const { runId } = context;
      const run = { context, steps, injections: injectionsOf(runId) };
      runs.set(runId, run);
      steps.onInterrupt((request) => take(run, request));
      try {
        return await next(input, context);
      } finally {
        forget(runId);
      }
    },
    wrapSettle: (next) => async (input, context) => {
      const first = await next(input, context);
      const run = runs.get(context.runId);
      run?.injections.open();
      return beforeModel(run, first);
    },
    wrapReply: (next) => async (reply, context) => {
      const made = await next(reply, context);
      const run = runs.get(context.runId);
      return run ? afterReply(run, made) : made;
    },
    wrapRound: (next) => async (round, context) => {
      const made = await next(round, context);
      return beforeModel(runs.get(context.runId), made);
    },
  };
}

/** Carries out a request of `interrupt()`. A plain interrupt is left to the loop. */
function take({ steps, injections, context }: SteeredRun, request: InterruptRequest): boolean | undefined {
  if (request.mode === 'pause') {
    steps.stopWith({ reason: 'suspended' });
    return true;
  }
  if (request.mode !== 'inject') return undefined;
  const messages = request.messages as readonly Msg[];
  checkNew(messages, [...context.messages, ...injections.waiting]);
  const admitted = injections.opened.then(() => steps.admit({ messages, decisions: [] }));
  injections.add(
    messages,
    admitted.then((input) => input.messages),
  );
  storeAtEnd(injections, steps);
  return true;
}

/** Makes sure that the log gets the messages that the model has not seen. */
export function storeAtEnd(injections: Injections, steps: Steps): void {
  steps.beforeEnd(async ({ signal }) => {
    await steps.append(await injections.takeLast(signal));
  });
}

/** Adds the messages that came in, if the model is asked next. */
async function beforeModel(run: SteeredRun | undefined, next: Next): Promise<Next> {
  if (!run || isEnding(next) || next.to !== 'model') return next;
  const { context, steps } = run;
  const { status } = context;
  if (status.pauseNext && !context.stopped) {
    status.pauseNext = false;
    steps.stopWith({ reason: 'suspended' });
  }
  if (!context.stopped) await takeIn(run);
  return next;
}

/** Lets the run go on after an answer if messages have come in. */
async function afterReply(run: SteeredRun, next: Next): Promise<Next> {
  const { context, steps, injections } = run;
  if (!isEnding(next)) return beforeModel(run, next);
  if (!isNewAnswer(next, context) || !injections.any) return next;
  const { message } = next;
  await injections.judged(context.signal);
  if (context.stopped) return steps.recover(message);
  if (!injections.any) return next;
  await steps.append([message]);
  return beforeModel(run, { to: 'model' });
}

/**
 * Appends the messages that guards have accepted. Waits one turn of the event loop, which is enough
 * for guards without I/O. Messages that guards still judge are appended later.
 */
async function takeIn({ context, steps, injections }: SteeredRun): Promise<void> {
  if (!injections.any) return;
  const oneTurn = new Promise((resolve) => setTimeout(resolve));
  await Promise.race([injections.judged(context.signal), oneTurn]);
  await steps.append(injections.take());
}
