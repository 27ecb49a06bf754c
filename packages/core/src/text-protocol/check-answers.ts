import type { Middleware } from '../agent/middleware.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { func, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { corrections } from './corrections.ts';
import type { CheckAnswer } from './parsed-reply.ts';

/** Your check of answers for `checkAnswers()`. */
export interface CheckAnswersOptions {
  /**
   * Checks each answer. A returned text is sent to the model as a correction. Empty answers are
   * corrected in any case. Default: only empty answers are corrected.
   */
  readonly check?: CheckAnswer;
}

/**
 * Checks the answers of a model with native tool calling, and asks the model to correct bad
 * answers. Put this middleware in an agent's `use` list. With `textToolCalls`, use the option
 * `check` of `textToolCalls` instead.
 *
 * Readers get the text before it is checked; a `step-reset` takes refused text back. A refused
 * answer costs an iteration. The session log stores the refused answer and the correction as two
 * messages with `metadata.correction`. A structured value is checked as JSON; if it is refused, no
 * tool call beside it runs. Other replies with tool calls and summaries are not checked. Throws
 * `CONFIGURATION` for an option of the wrong kind. Source: OxyGent, `func_reflexion`.
 */
export function checkAnswers(options: CheckAnswersOptions = {}): Middleware {
  checkOptions('checkAnswers()', options, checkAnswersOptions);
  return { name: 'checkAnswers', wrapReply: corrections(options) };
}

const checkAnswersOptions: OptionTable<CheckAnswersOptions> = { check: optional(func) };
