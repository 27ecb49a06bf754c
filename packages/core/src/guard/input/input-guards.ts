import type { Middleware, Rejection } from '../../loop/use/middleware.ts';
import { perRun } from '../../loop/use/per-run.ts';
import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { reportFailure } from '../../error/report-failure.ts';
import { errorMessage, type ErrorMessageOptions } from '../../error/error-message.ts';
import { isRecord } from '../../message/is-record.ts';
import type { Msg } from '../../message/msg.ts';
import { parseMessages } from '../../message/validate-message.ts';
import { abortable } from '../../model/abortable.ts';
import { addUsage } from '../../model/usage.ts';
import { arc } from '../../tokens/arc-profile.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { GuardContext, InputStage, StageRejection } from './input-stage.ts';
import { UnreportedUsage } from './unreported-usage.ts';

/** The words of rejections are `errorMessage`'s. */
export interface GuardOptions extends ErrorMessageOptions {
  /** Told what a stage or rule threw: nobody else is. Default: `console.warn`. */
  readonly onError?: (error: unknown, stage: string) => void;
  /**
   * Estimates what a model request cost where no provider says so, as of a reply that was cut off;
   * default `arc`.
   */
  readonly profile?: TokenProfile;
}

/**
 * Checks what each call is made with, before anything is stored: the stages in their order, the
 * first no wins. The call then ends with reason `rejected` and `error.code` `GUARD_REJECTED`;
 * `details` have the `category` and the `stage`. A stage that throws, or gives anything but
 * messages or a rejection, is a no: `Security check failed`, category `SYSTEM_ERROR` (Arc Reactor:
 * `GuardPipeline`).
 */
export function inputGuards(stages: readonly InputStage[], options: GuardOptions = {}): Middleware {
  const { check, report } = stagesOf(stages, options);
  const { profile = arc } = options;
  if (!stages.some(({ after }) => after)) return { name: 'inputGuards', guard: check };
  const runs = perRun(() => new UnreportedUsage(profile));
  return {
    name: 'inputGuards',
    guard: check,
    onEvent(event, _control, context) {
      // Words of ours follow an interrupt.
      if (!context.cut) runs.get(event.runId)?.see(event, context.usage);
    },
    wrapRun: (next) =>
      runs.wrapRun(async (input, context) => {
        try {
          return await next(input, context);
        } finally {
          const unreported = runs.get(context.runId)!;
          const usage = addUsage(context.usage, unreported.total(context.usage));
          for (const stage of stages) {
            try {
              await stage.after?.({ usage, modelId: context.model.modelId }, context);
            } catch (error) {
              report(error, stage.name);
            }
          }
        }
      }),
  };
}

/** The stages as one guard. Throws `CONFIGURATION` for what is no stage. */
export function stagesOf(
  stages: readonly InputStage[],
  options: GuardOptions = {},
): {
  check(input: readonly Msg[], context: GuardContext): Promise<readonly Msg[] | Rejection>;
  report(error: unknown, stage: string): void;
} {
  checkFields('CONFIGURATION', 'inputGuards()', { stages }, 'stages:array');
  checkGuardOptions('inputGuards()', options);
  for (const stage of stages)
    checkFields(
      'CONFIGURATION',
      'A stage of inputGuards()',
      stage,
      'name:string check:function after:function|?',
    );
  const report = reporter(options);
  return {
    report,
    async check(input, context) {
      let messages = input;
      for (const stage of stages) {
        const verdict = await judge(stage, messages, context, report);
        // The call is over; what it was made with goes nowhere.
        if (context.signal.aborted) return input;
        if (!isMessages(verdict)) return rejection(stage.name, verdict, options);
        messages = verdict;
      }
      return messages;
    },
  };
}

/** Throws `CONFIGURATION`. */
export function checkGuardOptions(where: string, options: unknown): void {
  checkFields(
    'CONFIGURATION',
    where,
    options,
    'locale:string|? messages:object|? onError:function|? profile:countText()|?',
  );
}

/** Tells who listens what was thrown; a listener that throws changes nothing. */
export function reporter({ onError }: GuardOptions): (error: unknown, stage: string) => void {
  return (error, stage) => reportFailure(`Guard "${stage}" failed:`, onError, error, stage);
}

/** The error that says no: nothing of the input or of an exception stands in it. */
export function rejectionError(
  stage: string,
  { category, message, details }: StageRejection,
  options: ErrorMessageOptions,
): AgentError {
  const about = { ...details, category, stage };
  const words = message ?? errorMessage({ code: 'GUARD_REJECTED', details: about }, options);
  return new AgentError('GUARD_REJECTED', words, {
    retryable: category === 'RATE_LIMITED',
    details: about,
  });
}

/** Whether it is a rejection that was meant to be one. */
export function isRejection(value: unknown): value is StageRejection {
  if (!isRecord(value) || Array.isArray(value)) return false;
  const { category, message, details } = value;
  return (
    typeof category === 'string' &&
    /^(RATE_LIMITED|INVALID_INPUT|PROMPT_INJECTION|OFF_TOPIC|UNAUTHORIZED|SYSTEM_ERROR|OUTPUT_REJECTED|OUTPUT_TOO_SHORT)$/.test(
      category,
    ) &&
    (message === undefined || typeof message === 'string') &&
    (details === undefined || isRecord(details))
  );
}

function rejection(
  stage: string,
  verdict: StageRejection,
  options: ErrorMessageOptions,
): Rejection {
  return { error: rejectionError(stage, verdict, options).toJSON() };
}

function isMessages(verdict: readonly Msg[] | StageRejection): verdict is readonly Msg[] {
  return Array.isArray(verdict);
}

async function judge(
  stage: InputStage,
  input: readonly Msg[],
  context: GuardContext,
  report: (error: unknown, stage: string) => void,
): Promise<readonly Msg[] | StageRejection> {
  try {
    const verdict: unknown = await abortable(
      (async () => stage.check(input, context))(),
      context.signal,
    );
    if (verdict === input || isRejection(verdict))
      return verdict as readonly Msg[] | StageRejection;
    const messages = parseMessages(verdict);
    // Nothing is the input of another call: of one that goes on from the log.
    if (messages.length || !input.length) return messages;
    throw new AgentError('INVALID_MESSAGE', 'The stage left nothing of the input.');
  } catch (error) {
    if (!context.signal.aborted) report(error, stage.name);
    return { category: 'SYSTEM_ERROR' };
  }
}
