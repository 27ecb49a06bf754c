import type { Middleware, Rejection } from '../../../agent/middleware.ts';
import { perRun } from '../../../agent/per-run.ts';
import { AgentError } from '../../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../../error/check-fields.ts';
import { reportFailure } from '../../../error/report-failure.ts';
import { errorMessage, type ErrorMessageOptions } from '../../../error/error-message.ts';
import { isRecord } from '../../../message/json/is-record.ts';
import type { Msg } from '../../../message/msg.ts';
import { parseMessages } from '../../../message/validation/validate-message.ts';
import { abortable } from '../../../model/abortable.ts';
import { addUsage } from '../../../model/usage.ts';
import { arc } from '../../../tokens/arc-profile.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';
import { decisionClaims } from './decision-claims.ts';
import type { GuardContext, InputStage, StageRejection } from './input-stage.ts';
import { UnreportedUsage } from './unreported-usage.ts';

/** Options of guards. `errorMessage` writes the text of rejections with these options. */
export interface GuardOptions extends ErrorMessageOptions {
  /**
   * Function that gets exceptions of stages and rules. They are reported nowhere else. Default:
   * `console.warn`.
   */
  readonly onError?: (error: unknown, stage: string) => void;
  /**
   * Token profile that estimates the usage of model requests without reported usage, such as the
   * request of a cut-off reply. Default `arc`.
   */
  readonly profile?: TokenProfile;
}

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
  const { check, report } = stagesOf(stages, options);
  const { profile = arc } = options;
  if (!stages.some(({ after }) => after))
    return { name: 'inputGuards', guard: check, claims: decisionClaims };
  const runs = perRun(() => new UnreportedUsage(profile));
  return {
    name: 'inputGuards',
    onError: 'fail',
    guard: check,
    claims: decisionClaims,
    onEvent(event, _control, context) {
      // After an interrupt, the chunks contain the library's text, not the model's.
      if (!context.stopped) runs.get(event.runId)?.see(event, context.usage);
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

/** Combines the stages into one guard. Throws `CONFIGURATION` for an invalid stage or option. */
export function stagesOf(
  stages: readonly InputStage[],
  options: GuardOptions = {},
): {
  check(input: readonly Msg[], context: GuardContext): Promise<readonly Msg[] | Rejection>;
  report(error: unknown, stage: string): void;
} {
  checkFields('CONFIGURATION', 'inputGuards()', { stages }, 'stages:array');
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
        // The agent call has been aborted, so nothing uses its input.
        if (context.signal.aborted) return input;
        if (!isMessages(verdict)) return rejection(stage.name, verdict, options);
        messages = verdict;
      }
      return messages;
    },
  };
}

/** Fields of `GuardOptions` for `checkOptions`. */
export const guardFields =
  'locale:string|? messages:object|? onError:function|? profile:countText()|?';

/**
 * Returns a function that passes exceptions to `onError`. If `onError` throws, the result of the
 * guard does not change.
 */
export function reporter({ onError }: GuardOptions): (error: unknown, stage: string) => void {
  return (error, stage) => reportFailure(`Guard "${stage}" failed:`, onError, error, stage);
}

/** Creates the error of a rejection. The error quotes neither the input nor an exception. */
export function rejectionError(
  stage: string,
  { category, message, details }: StageRejection,
  { locale = 'en', messages = {} }: ErrorMessageOptions,
): AgentError {
  const about = { ...details, category, stage };
  const error = { code: 'GUARD_REJECTED', details: about };
  const words = message ?? errorMessage(error, { locale, messages });
  return new AgentError('GUARD_REJECTED', words, {
    retryable: category === 'RATE_LIMITED',
    details: about,
  });
}

/** Checks that the value is a well-formed rejection. */
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
    // A stage must not remove all messages: an empty input means that the agent call resumes from
    // the session log.
    if (messages.length || !input.length) return messages;
    throw new AgentError('INVALID_MESSAGE', 'The stage removed the whole input.');
  } catch (error) {
    if (!context.signal.aborted) report(error, stage.name);
    return { category: 'SYSTEM_ERROR' };
  }
}
