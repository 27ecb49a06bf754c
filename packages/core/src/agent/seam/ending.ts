import { misconfigured } from '../../error/agent-error.ts';
import type { Msg } from '../../message/msg.ts';
import type { CustomReason, Next } from '../next.ts';
import type { LiveRun } from '../run/live-run.ts';
import { endStopped } from '../step/finish.ts';
import { afterReply } from '../step/reason.ts';
import type { Run } from './run.ts';
import { takeLogStep } from './take-step.ts';

/** Returns the group `run.ending`. */
export function endingOf(live: LiveRun): Run['ending'] {
  let isReplying = false;
  const reply = async (message: Msg, reason: CustomReason): Promise<Next> => {
    if (isReplying) throw misconfigured(repliesTwice);
    isReplying = true;
    try {
      return await afterReply(live, { message, reason });
    } finally {
      isReplying = false;
    }
  };
  return {
    get stopped() {
      return live.halt.stopped;
    },
    fail: (error) => live.halt.fail(error),
    interrupt: (request) => live.interrupt(request),
    suspend: () => live.alive().halt.stopWith({ kind: 'suspended' }),
    whenStopped: (partial) => takeLogStep(live, () => endStopped(live, partial)),
    reply: (message, reason) => takeLogStep(live, () => reply(message, reason)),
    before: (work) => void live.alive().log.beforeEnd.push(work),
    addToResult({ warning, failureMessage }) {
      live.alive().totals.failureMessage ??= failureMessage;
      if (warning) live.totals.warnings.push(warning);
    },
  };
}

const repliesTwice =
  '`run.ending.reply()` passes its message through `wrapReply`. In `wrapReply`, call it only if ' +
  'the reply has a `request`.';
