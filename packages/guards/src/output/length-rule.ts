import { AgentError } from '@isoloop/core';
import { callListener } from '@isoloop/core/error';
import {
  checkOptions,
  func,
  nonNegative,
  oneOf,
  optional,
  string,
  type OptionTable,
} from '@isoloop/core/options';
import { startOf } from '@isoloop/core/message';
import { type RunInfo, runInfo } from '@isoloop/core/model';
import type { OutputRule } from './output-rule.ts';

/** How long an answer may be, and what happens to another one. */
export interface LengthRuleOptions {
  /**
   * Minimum length of an answer in characters (UTF-16 units), without white space at both ends.
   * Default: 0. Replies with tool calls may be shorter.
   */
  readonly min?: number;
  /**
   * Maximum length of a reply in characters. Default: no limit. A longer reply is shortened and
   * ends with `mark`, which counts as well, and is left out if it does not fit. A structured value
   * is not shortened. A value that is too long is rejected with `OUTPUT_REJECTED`, and the details
   * have its `length` and `max`.
   */
  readonly max?: number;
  /**
   * What happens to an answer that is too short. `warn` (default) keeps the answer and adds a
   * warning to `metadata.warnings` of its message. `retry` asks the model once for a longer answer.
   * If that answer is too short as well, it stays, with a warning. `reject` rejects the answer with
   * `OUTPUT_TOO_SHORT`.
   */
  readonly tooShort?: 'warn' | 'retry' | 'reject';
  /** Text at the end of a reply that was shortened. Default: a blank line and `[Cut off here]`. */
  readonly mark?: string;
  /**
   * Function that gets each violation of `min` or `max`. An exception of this function is logged to
   * the console.
   */
  readonly onViolation?: (violation: LengthViolation) => void;
}

/** An answer that is too short or too long. */
export interface LengthViolation {
  readonly rule: 'min' | 'max';
  /** Length of the answer in characters. `limit` is the `min` or `max` that it violates. */
  readonly value: number;
  readonly limit: number;
  /** Run that asked for the answer. Absent if the model was asked outside a run. */
  readonly run?: RunInfo;
}

/**
 * Limits the length of the model's answers. Source: Arc Reactor, `outputMinChars`,
 * `outputMaxChars`.
 */
export function lengthRule(options: LengthRuleOptions): OutputRule {
  checkOptions('lengthRule()', options, lengthRuleOptions);
  const { min = 0, max = Infinity, tooShort = 'warn', mark = '\n\n[Cut off here]' } = options;
  const end = mark.length < max ? mark : '';
  if (min > max)
    throw new AgentError('CONFIGURATION', `lengthRule(): min ${min} is more than max ${max}.`);
  return {
    name: 'lengthRule',
    releaseAtMost: max - end.length,
    review(text, { callsTools, isForProgram, mayRetry, run }) {
      const reportViolation = (violation: LengthViolation): void =>
        callListener(options.onViolation, { ...violation, ...(run && { run: runInfo(run) }) });
      if (text.length > max) {
        reportViolation({ rule: 'max', value: text.length, limit: max });
        if (isForProgram)
          return { category: 'OUTPUT_REJECTED', details: { length: text.length, max } };
        return { text: startOf(text, max - end.length) + end };
      }
      const { length } = text.trim();
      if (length >= min || callsTools) return { text };
      reportViolation({ rule: 'min', value: length, limit: min });
      if (tooShort === 'reject') return { category: 'OUTPUT_TOO_SHORT', details: { length, min } };
      if (tooShort !== 'retry' || !mayRetry)
        return { text, warning: { stage: 'lengthRule', length, min } };
      const why = `Your answer has ${length} characters; at least ${min} are needed.`;
      return { retry: `${why} Answer again, in more detail.` };
    },
  };
}

const lengthRuleOptions: OptionTable<LengthRuleOptions> = {
  min: optional(nonNegative),
  max: optional(nonNegative),
  tooShort: optional(oneOf('warn', 'retry', 'reject')),
  mark: optional(string),
  onViolation: optional(func),
};
