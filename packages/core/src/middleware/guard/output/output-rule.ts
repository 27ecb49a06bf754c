import type { GuardCategory } from '../../../error/user-error-text.ts';
import type { Awaitable } from '../../../event/hook.ts';
import type { JsonObject } from '../../../message/json.ts';
import { type RunInfo, runInfo } from '../../../model/chat-model.ts';
import type { Rejection } from '../rejection.ts';
import { startOf } from '../../../message/text.ts';
import { misconfigured, checkOptions } from '../../../error/agent-error.ts';
import { callListener } from '../../../error/report-failure.ts';

/**
 * A part of a text that a rule does not allow. It is replaced, or the whole text is rejected.
 * `start` is the index of its first character, and `end` is the index after its last character.
 */
export type Finding = { readonly start: number; readonly end: number } & (
  | { readonly replacement: string }
  | { readonly reject: GuardCategory }
);

/**
 * Facts about a reviewed text. The text is the whole text of one reply, or a value that the reply
 * gives through a tool.
 */
export interface ReviewContext {
  /**
   * Whether the text is for a program, in JSON or YAML. A changed text must still be a valid value.
   */
  readonly isForProgram: boolean;
  /** Whether the reply has tool calls, so that it is not the answer yet. */
  readonly callsTools: boolean;
  /** Number of times the model was asked again for this reply. */
  readonly retries: number;
  /** Run that asked for the reply. Absent if the model was asked outside a run. */
  readonly run?: RunInfo | undefined;
}

/**
 * What an output rule decides about a whole text. `text` is the text that may pass, changed or not.
 * `retry` is a question that asks the model for another reply; a rule may ask once per reply.
 */
export type Review =
  | { readonly text: string; readonly warning?: JsonObject }
  | { readonly retry: string }
  | Rejection;

/**
 * Effect of a rule on a reply. `changed`: the rule replaced text. `warned`: the reply passed with a
 * warning. `retried`: the model was asked again. `rejected`: the reply was rejected.
 */
export interface OutputAction {
  readonly rule: string;
  readonly action: 'changed' | 'warned' | 'retried' | 'rejected';
  /** Run that asked for the reply. Absent if the model was asked outside a run. */
  readonly run?: RunInfo | undefined;
}

/**
 * A rule for replies of the model. An exception or an invalid return value counts as a rejection,
 * so a broken rule lets nothing pass.
 */
export interface OutputRule {
  readonly name: string;
  /**
   * Returns the parts of a text that the rule does not allow, in order and without overlaps. The
   * function is called with pieces of a reply while it streams, and with the whole reply at its
   * end. A finding must depend on at most `lookahead` characters around it. Otherwise its text may
   * be released before the rule finds it.
   */
  find?(text: string): Iterable<Finding>;
  /**
   * Returns the index from which a streamed text is withheld, because more text may complete a
   * finding there. Default: the last `lookahead` characters.
   */
  withheldFrom?(text: string, lookahead: number): number;
  /** Reviews the whole text of a reply after its end. */
  review?(text: string, context: ReviewContext): Awaitable<Review>;
  /** Maximum number of characters of a reply to release before its end. Default: no limit. */
  readonly releaseAtMost?: number;
}

/** Replaces each finding in the text with its replacement. */
export function replaceFindings(text: string, findings: readonly Finding[]): string {
  if (!findings.length) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end, ...rest } of findings) {
    pieces.push(text.slice(from, start), 'replacement' in rest ? rest.replacement : '');
    from = end;
  }
  return pieces.join('') + text.slice(from);
}

/** How long an answer may be, and what happens to another one. */
export interface LengthRuleOptions {
  /**
   * Minimum length of an answer in characters (UTF-16 units), without white space at both ends.
   * Default 0. Replies with tool calls may be shorter.
   */
  readonly min?: number;
  /**
   * Maximum length of a reply in characters. Default: no limit. The text after the limit is
   * replaced with `mark`. A structured value is not shortened. A value that is too long is rejected
   * with `OUTPUT_REJECTED`, and the details have its `length` and `max`.
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

/** Limits the length of the model's answers (Arc Reactor: `outputMinChars`, `outputMaxChars`). */
export function lengthRule(options: LengthRuleOptions): OutputRule {
  const fields =
    'min,max:nonNegative|? tooShort:warn|retry|reject|? mark:string|? onViolation:function|?';
  checkOptions('lengthRule()', options, fields);
  const { min = 0, max = Infinity, tooShort = 'warn', mark = '\n\n[Cut off here]' } = options;
  if (min > max) throw misconfigured(`lengthRule(): min ${min} is more than max ${max}.`);
  return {
    name: 'lengthRule',
    releaseAtMost: max,
    review(text, { callsTools, isForProgram, retries, run }) {
      const reportViolation = (violation: LengthViolation): void =>
        callListener(options.onViolation, { ...violation, ...(run && { run: runInfo(run) }) });
      if (text.length > max) {
        reportViolation({ rule: 'max', value: text.length, limit: max });
        if (isForProgram)
          return { category: 'OUTPUT_REJECTED', details: { length: text.length, max } };
        return { text: startOf(text, max) + mark };
      }
      const { length } = text.trim();
      if (length >= min || callsTools) return { text };
      reportViolation({ rule: 'min', value: length, limit: min });
      if (tooShort === 'reject') return { category: 'OUTPUT_TOO_SHORT', details: { length, min } };
      if (tooShort !== 'retry' || retries)
        return { text, warning: { stage: 'lengthRule', length, min } };
      const why = `Your answer has ${length} characters; at least ${min} are needed.`;
      return { retry: `${why} Answer again, in more detail.` };
    },
  };
}

/** What `regexRule()` looks for, and what it does with it. */
export interface RegexRuleOptions {
  /**
   * Expression that searches the whole text, before it is changed. A search must take linear time,
   * and a match must have at most `lookahead` characters. Do not put `+`, `*` or a large count
   * inside another one. Do not put them before an expression that matches the same text.
   */
  readonly pattern: RegExp;
  /** `redact` (default) replaces each match. `reject` rejects the whole reply. */
  readonly action?: 'redact' | 'reject';
  /** Text that replaces a match. Default `***`. */
  readonly replacement?: string;
  /** Name of the rule in the `details` of a rejection. Default `regexRule`. */
  readonly name?: string;
}

/**
 * Replaces or rejects what your regular expression finds in a reply (Arc Reactor:
 * `RegexPatternOutputGuard`).
 */
export function regexRule(
  options: RegexRuleOptions,
): OutputRule & Required<Pick<OutputRule, 'find'>> {
  const fields = 'pattern:exec() action:redact|reject|? replacement,name:string|?';
  checkOptions('regexRule()', options, fields);
  const { action = 'redact', replacement = '***', name = 'regexRule' } = options;
  const { source, flags } = options.pattern;
  const pattern = new RegExp(source, `${flags.replace(/[gy]/g, '')}g`);
  return {
    name,
    *find(text): Generator<Finding> {
      for (const match of text.matchAll(pattern)) {
        // An empty match has no text to replace.
        if (action === 'redact' && !match[0]) continue;
        const range = { start: match.index, end: match.index + match[0].length };
        yield {
          ...range,
          ...(action === 'reject' ? { reject: 'OUTPUT_REJECTED' } : { replacement }),
        };
      }
    },
  };
}
