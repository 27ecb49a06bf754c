import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { Finding, OutputRule } from './output-rule.ts';

export interface RegexRuleOptions {
  /**
   * Tried on the text as it is, everywhere in it. It has to take linear time and to match no more
   * than `lookahead` characters: no `+`, `*` or large count inside another, or before what can
   * match the same.
   */
  readonly pattern: RegExp;
  /** `mask` (default): what matches is replaced. `reject`: the whole is. */
  readonly action?: 'mask' | 'reject';
  /** Default `***`. */
  readonly replacement?: string;
  /** Names the rule in a rejection's `details`; default `regexRule`. */
  readonly name?: string;
}

/** A rule by a regular expression of yours (Arc Reactor: `RegexPatternOutputGuard`). */
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
        // A match of nothing has nothing to mask.
        if (action === 'mask' && !match[0]) continue;
        const place = { start: match.index, end: match.index + match[0].length };
        yield action === 'reject'
          ? { ...place, reject: 'OUTPUT_REJECTED' }
          : { ...place, replacement };
      }
    },
  };
}
