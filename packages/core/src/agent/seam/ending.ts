import { misconfigured } from '../../error/agent-error.ts';
import type { Msg } from '../../message/msg.ts';
import type { CustomReason, Next } from '../next.ts';
import type { LiveRun } from '../run/live-run.ts';
import { endStopped } from '../step/finish.ts';
import { afterReply } from '../step/reason.ts';
import type { Run } from './run.ts';
import { takeLogStep } from './take-step.ts';

/** Returns the group `run.ending`. */
export function endingOf(run: LiveRun): Run['ending'] {
  let isReplying = false;
  const reply = async (message: Msg, reason: CustomReason): Promise<Next> => {
    if (isReplying) throw misconfigured(repliesTwice);
    isReplying = true;
    try {
      return await afterReply(run, { message, reason });
    } finally {
      isReplying = false;
    }
  };
  return {
    get stopped() {
      return run.ending.stopped;
    },
    fail: (error) => run.notMapping().ending.fail(error),
    interrupt: (request) => run.notMapping().interrupt(request),
    suspend: () => run.alive().ending.stopWith({ kind: 'suspended' }),
    whenStopped: (partial) => takeLogStep(run, () => endStopped(run, partial)),
    reply: (message, reason) => takeLogStep(run, () => reply(message, reason)),
    before: (work) => void run.alive().log.beforeEnd.push(work),
    addToResult({ warning, failureMessage }) {
      run.alive().totals.failureMessage ??= failureMessage;
      if (warning) run.totals.warnings.push(warning);
    },
  };
}

const repliesTwice =
  '`run.ending.reply()` passes its message through `wrapReply`. In `wrapReply`, call it only if ' +
  'the reply has a `request`.';
