import type { Middleware } from '../../../agent/middleware.ts';
import { perRun } from '../../../agent/per-run.ts';
import { checkOptions } from '../../../error/check-fields.ts';
import { addUsage } from '../../../model/usage.ts';
import { arc } from '../../../tokens/arc-profile.ts';
import { guardFields, reporter, type GuardOptions } from '../guard-options.ts';
import { checkStages } from './check-stages.ts';
import { guardInput } from './guard-input.ts';
import type { InputStage } from './input-stage.ts';
import { UnreportedUsage } from './unreported-usage.ts';

/**
 * Checks the input of each agent call before anything is stored. The stages run in order, and the
 * first rejection ends the checks. The agent call then ends with reason `rejected` and `error.code`
 * `GUARD_REJECTED`. The `details` of the error have the `category` and the `stage`. A stage also
 * rejects if it throws or returns a value that is neither messages nor a rejection. The message of
 * such a rejection is `Security check failed` and its category is `SYSTEM_ERROR` (Arc Reactor:
 * `GuardPipeline`).
 */
export function inputGuards(stages: readonly InputStage[], options: GuardOptions = {}): Middleware {
  checkOptions('CONFIGURATION', 'inputGuards()', options, guardFields);
  const guard = guardInput('inputGuards', checkStages(stages, options));
  if (!stages.some(({ after }) => after)) return guard;
  const { profile = arc } = options;
  const report = reporter(options);
  const unreportedIn = perRun(() => new UnreportedUsage(profile));
  return {
    ...guard,
    onError: 'fail',
    onEvent(event, _control, context) {
      // After an interrupt, the chunks contain the library's text, not the model's.
      if (!context.stopped) unreportedIn(context).see(event, context.usage);
    },
    wrapRun: (next) => async (input, context) => {
      try {
        return await next(input, context);
      } finally {
        const usage = addUsage(context.usage, unreportedIn(context).total(context.usage));
        for (const stage of stages) {
          try {
            await stage.after?.({ usage, modelId: context.model.modelId }, context);
          } catch (error) {
            report(error, stage.name);
          }
        }
      }
    },
  };
}
