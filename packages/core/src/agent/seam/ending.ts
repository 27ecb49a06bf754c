import { errorData, misconfigured } from '../../error/agent-error.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { func, object } from '../../error/options/kinds.ts';
import type { Msg } from '../../message/msg.ts';
import { endReason, type CustomReason, type Next } from '../next.ts';
import type { LiveRun } from '../run/live-run.ts';
import { endStopped } from '../step/finish.ts';
import { afterReply } from '../step/reason.ts';
import type { Run } from './run.ts';
import { takeLogStep } from './take-step.ts';

export function endingOf(live: LiveRun): Run['ending'] {
  let isReplying = false;
  const reply = async (message: Msg, reason: CustomReason): Promise<Next> => {
    if (isReplying) throw misconfigured(repliesTwice);
    checkFields('run.ending.reply()', { message, reason }, replyFields);
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
    before(work) {
      const { beforeEnd } = live.alive().log;
      checkFields('run.ending.before()', { work }, { work: func });
      beforeEnd.push(work);
    },
    addToResult({ warning, failureMessage }) {
      live.alive().totals.failureMessage ??= failureMessage;
      if (warning) live.totals.warnings.push(errorData(warning));
    },
  };
}

const replyFields = { message: object, reason: endReason };

const repliesTwice =
  '`run.ending.reply()` passes its message through `wrapReply`. In `wrapReply`, call it only if ' +
  'the reply has a `request`.';
