import { checkNoOptions } from '../error/options/check-options.ts';
import type { Middleware, Run } from '../agent/middleware.ts';
import { type AnswerEnd, type Next, isEnding, isNewAnswer } from '../agent/next.ts';
import { perRun } from '../agent/per-run.ts';
import type { JoiningCall } from '../agent/run/inbox.ts';
import type { CheckedInterrupt } from '../event/interrupt-request.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { abortable } from '../wait/abort.ts';
import { SteeredRun } from './steered-run.ts';

/**
 * Lets others steer a running agent call: pause it, and add messages to it. `ReActAgent` has this
 * middleware. It handles the modes `pause` and `inject` of `interrupt()`, and `whenBusy: 'inject'`.
 */
export function steering(): Middleware;
export function steering(...args: readonly unknown[]): Middleware {
  checkNoOptions('steering()', args, 'Set `whenBusy` and `interruptWhenIdle` of the agent.');
  const steeredRun = perRun((run) => new SteeredRun(run));
  return {
    name: 'steering',
    wrapRun: (input, next, run) => {
      run.inbox.handle({
        interrupt({ mode }) {
          if (mode !== 'pause') return undefined;
          run.ending.suspend();
          return true;
        },
      });
      return next(input);
    },
    // Guards get the messages of others only after the run has accepted its own input.
    wrapSettle: async (input, next, run) => {
      const outcome = await next(input);
      const steered = steeredRun(run);
      run.inbox.handle({
        interrupt: (request) => inject(request, steered),
        join: (call) => (mayJoin(call, run) ? joinCall(steered, call) : undefined),
      });
      return beforeModel(steered, outcome);
    },
    wrapReply: async (reply, next, run) => {
      const outcome = await next(reply);
      const steered = steeredRun(run);
      return isNewAnswer(outcome) ? afterAnswer(steered, outcome) : beforeModel(steered, outcome);
    },
    wrapRound: async (round, next, run) => {
      const outcome = await next(round);
      return beforeModel(steeredRun(run), outcome);
    },
  };
}

/** A call with decisions or with middleware of its own needs a run of its own. */
function mayJoin({ input, options }: JoiningCall, run: Run): boolean {
  return run.options.whenBusy === 'inject' && !input.decisions.length && !options.use;
}

function inject(request: CheckedInterrupt, steered: SteeredRun): boolean | undefined {
  if (request.mode !== 'inject') return undefined;
  const { messages } = request;
  const { run } = steered;
  const injection = steered.add(messages, () =>
    run.inbox.admit({ messages, decisions: [], arrivedDuringRun: 'messages' }),
  );
  run.ending.before(() => steered.takeLast(injection, run.signal));
  return true;
}

/** Appends the messages that came in, if the model is asked next. */
function beforeModel(steered: SteeredRun, next: Next): Next | Promise<Next> {
  const { run } = steered;
  if (isEnding(next) || next.to !== 'model' || run.ending.stopped) return next;
  return steered.hasMessages ? steered.take().then(() => next) : next;
}

/** Lets the run go on after an answer if messages have come in. */
async function afterAnswer(steered: SteeredRun, answer: AnswerEnd): Promise<Next> {
  const { run } = steered;
  if (!steered.hasMessages) return answer;
  await steered.waitForGuards(run.stopSignal);
  if (run.ending.stopped) return run.ending.whenStopped(answer.message);
  if (!steered.hasMessages) return answer;
  await run.log.edit({ append: [answer.message] });
  return beforeModel(steered, { to: 'model' });
}

/**
 * Adds the messages of a second agent call to the running one, once its wrappers admit them.
 * Resolves with the result of the running call. Rejects if a wrapper rejects the messages, or the
 * second call is aborted. If the running call ends without the messages, resolves with `undefined`.
 * The second call then has to run on its own.
 */
async function joinCall(
  steered: SteeredRun,
  { input, result, signal, admit }: JoiningCall,
): Promise<AgentResult | undefined> {
  const injection = steered.add(input.messages, admit);
  const nothing = (): undefined => undefined;
  const end = result.then(nothing, nothing);
  const rejection = injection.admitted.then(() => end);
  try {
    await abortable(Promise.race([rejection, end]), signal);
  } catch (error) {
    injection.messages = [];
    throw error;
  }
  return steered.isWaiting(injection) ? undefined : result;
}
