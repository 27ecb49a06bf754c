import type { Middleware, RequestDraft, Step } from '../../agent/middleware.ts';
import { isNewAnswer, type Answer, type Next } from '../../agent/next.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
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

export interface Steering extends Middleware {
  /** Returns the messages that come in during a run, also before it begins. */
  injectionsOf(context: RunContext, steps: Steps): Injections;
}

/** A running agent call that others may steer. */
interface SteeredRun {
  readonly context: RunContext;
  readonly steps: Steps;
  readonly injections: Injections;
}

/**
 * Lets others steer a running agent call: pause it, and add messages to it. `ReActAgent` has this
 * middleware. It handles the modes `pause` and `inject` of `interrupt()`, and `whenBusy: 'inject'`.
 */
export function steering(): Steering {
  const runs = new WeakMap<RunContext, Injections>();
  const injectionsOf = (context: RunContext, steps: Steps): Injections => {
    const known = runs.get(context);
    if (known) return known;
    const injections = new Injections(context, steps);
    runs.set(context, injections);
    return injections;
  };
  return {
    name: 'steering',
    injectionsOf,
    wrapRun: (next) => (input, context, steps) => {
      const injections = injectionsOf(context, steps);
      steps.onInterrupt((request) => take(request, injections, steps));
      return next(input, context);
    },
    wrapSettle: (next) => async (input, context, steps) => {
      const first = await next(input, context);
      injectionsOf(context, steps).open();
      return first;
    },
    wrapRequest: (next) => (draft, context, steps) => {
      const injections = injectionsOf(context, steps);
      if (!injections.any && !context.status.pauseNext) return next(draft, context);
      return beforeRequest(draft, { context, steps, injections }, next);
    },
    wrapReply: (next) => async (reply, context, steps) => {
      const made = await next(reply, context);
      const injections = injectionsOf(context, steps);
      const isLate = injections.any && isNewAnswer(made, context);
      return isLate ? afterAnswer(made, { context, steps, injections }) : made;
    },
  };
}

/** Carries out a request of `interrupt()`. A plain interrupt is left to the loop. */
function take(
  request: InterruptRequest,
  injections: Injections,
  steps: Steps,
): boolean | undefined {
  if (request.mode === 'pause') {
    steps.stopWith({ reason: 'suspended' });
    return true;
  }
  if (request.mode !== 'inject') return undefined;
  const messages = request.messages as readonly Msg[];
  injections.add(messages, () => steps.admit({ messages, decisions: [] }));
  return true;
}

/**
 * Pauses the run, or appends the messages that guards have accepted. The loop then makes the request
 * again. Waits one turn of the event loop, which is enough for guards without I/O. Messages that
 * guards still judge are appended later.
 */
async function beforeRequest(
  draft: RequestDraft,
  { context, steps, injections }: SteeredRun,
  next: Step<RequestDraft, ModelRequest | Next>,
): Promise<ModelRequest | Next> {
  const again = { to: 'model', isAsked: draft.isAsked } as const;
  if (context.status.pauseNext) {
    context.status.pauseNext = false;
    steps.stopWith({ reason: 'suspended' });
    return again;
  }
  const oneTurn = new Promise((resolve) => setTimeout(resolve));
  await Promise.race([injections.judged(context.signal), oneTurn]);
  const messages = injections.take();
  await steps.append(messages);
  return messages.length || context.stopped ? again : next(draft, context);
}

/** Lets the run go on after an answer, because messages have come in. */
async function afterAnswer(
  answer: Answer,
  { context, steps, injections }: SteeredRun,
): Promise<Next> {
  await injections.judged(context.signal);
  if (context.stopped) return steps.recover(answer.message);
  if (!injections.any) return answer;
  await steps.append([answer.message]);
  return { to: 'model' };
}
