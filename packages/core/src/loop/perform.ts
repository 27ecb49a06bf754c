import { AgentError } from '../error/agent-error.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { CallInput } from './call-input.ts';
import { finishWith, resultOf } from './ending.ts';
import { hookRejection } from './jump.ts';
import { loop } from './loop.ts';
import type { Run } from './run.ts';

/**
 * One call with all that stands around the loop. `run-start` comes first, `error` and `run-end`
 * last. `input` is missing if the call was aborted or failed in the queue. Then nothing is stored.
 */
export async function perform(run: Run, input: CallInput | undefined): Promise<AgentResult> {
  try {
    const resumes =
      input?.messages.every(({ role }) => role === 'tool') && run.setup.status.suspendedRun;
    await run.tell('run-start', resumes ? { resumes } : {}, {
      reject(why) {
        run.refusal ??= hookRejection(why);
      },
    });
    const result = run.refusal
      ? await loop(run, undefined)
      : await run.setup.call(input, run.context);
    return await tellEnd(run, result);
  } catch (thrown) {
    const error = AgentError.from(thrown);
    const data = error.toJSON();
    await run.close('error').catch(() => {});
    // A hook that fails on these events must not hide the failure.
    const failed = run.event('error', { error: data });
    await run.hooks.notify(failed).catch(() => {});
    await run.push([failed]);
    const ended = resultOf(run, finishWith(run, 'error', run.remains, { error: data }));
    const result = await tellEnd(run, ended, () => {});
    if (run.options.throwOnError === false) return result;
    throw error;
  }
}

/** Tells how the call ended; gives the result as readers see it. */
async function tellEnd(
  run: Run,
  result: AgentResult,
  onFailure = (error: unknown): void => {
    throw error;
  },
): Promise<AgentResult> {
  const event = run.event('run-end', { result });
  await run.hooks.notify(event).catch(onFailure);
  const shown = run.shown([event]);
  await run.give(shown);
  const [last] = shown;
  return last?.type === 'run-end' ? last.result : result;
}
