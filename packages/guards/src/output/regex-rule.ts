import {
  checkOptions,
  oneOf,
  optional,
  string,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';
import type { Finding, OutputRule } from './output-rule.ts';

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
  /** Text that replaces a match. Default: `***`. */
  readonly replacement?: string;
  /** Name of the rule in the `details` of a rejection. Default: `regexRule`. */
  readonly name?: string;
}

/**
 * Replaces or rejects what your regular expression finds in a reply. Source: Arc Reactor,
 * `RegexPatternOutputGuard`.
 */
export function regexRule(
  options: RegexRuleOptions,
): OutputRule & Required<Pick<OutputRule, 'find'>> {
  checkOptions('regexRule()', options, regexRuleOptions);
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

const regexRuleOptions: OptionTable<RegexRuleOptions> = {
  pattern: withMethod('exec'),
  action: optional(oneOf('redact', 'reject')),
  replacement: optional(string),
  name: optional(string),
};
