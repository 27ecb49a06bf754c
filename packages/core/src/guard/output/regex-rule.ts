import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Finding, OutputRule } from './output-rule.ts';

export interface RegexRuleOptions {
  /**
   * Expression to search for everywhere in the unchanged text. It must take linear time and match
   * at most `lookahead` characters. Avoid `+`, `*` or a large count inside another, or before an
   * expression that matches the same.
   */
  readonly pattern: RegExp;
  /** `mask` (default) replaces each match. `reject` rejects the whole reply. */
  readonly action?: 'mask' | 'reject';
  /** Text in place of a match; default `***`. */
  readonly replacement?: string;
  /** Name of the rule in a rejection's `details`; default `regexRule`. */
  readonly name?: string;
}

/** Creates a rule from your regular expression (Arc Reactor: `RegexPatternOutputGuard`). */
export function regexRule(
  options: RegexRuleOptions,
): OutputRule & Required<Pick<OutputRule, 'find'>> {
  checkFields(
    'CONFIGURATION',
    'regexRule()',
    options,
    'action:mask|reject|? replacement:string|? name:string|?',
  );
  const { pattern: given, action = 'mask', replacement = '***', name = 'regexRule' } = options;
  if (!(given instanceof RegExp))
    throw new AgentError('CONFIGURATION', 'regexRule(): pattern must be a RegExp.');
  const pattern = new RegExp(given.source, `${given.flags.replace(/[gy]/g, '')}g`);
  return {
    name,
    *find(text): Generator<Finding> {
      for (const match of text.matchAll(pattern)) {
        // An empty match has nothing to mask.
        if (action === 'mask' && !match[0]) continue;
        const place = { start: match.index, end: match.index + match[0].length };
        yield action === 'reject'
          ? { ...place, reject: 'OUTPUT_REJECTED' }
          : { ...place, replacement };
      }
    },
  };
}
