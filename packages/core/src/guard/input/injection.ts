import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { isRecord } from '../../message/is-record.ts';
import { injectionPatterns } from './injection-patterns.ts';
import type { InputStage } from './input-stage.ts';
import { textsOf } from './message-texts.ts';
import { plainText, withoutInvisible, type PlainText } from './plain-text.ts';

/** A pattern and the form of the text it is tried on; all forms are lower case. */
export interface InjectionPattern {
  readonly in: keyof PlainText;
  readonly pattern: RegExp;
}

export interface InjectionOptions {
  /**
   * In place of `injectionPatterns()`. A bare expression is tried on `text`. Each has to take
   * linear time: no `+`, `*` or large count inside another, or before what can match the same; ours
   * have none that is open.
   */
  readonly patterns?: readonly (RegExp | InjectionPattern)[];
}

/**
 * Rejects attempts to give the model new orders: English, Korean, Chinese, Japanese. It looks at
 * all texts of the input, tools' results that come with it too, without invisible characters,
 * fullwidth forms and look-alike letters, and into base64. Patterns are a first sieve, not a wall:
 * what is worded in a new way passes (Arc Reactor: `DefaultInjectionDetectionStage`).
 */
export function injection(options: InjectionOptions = {}): InputStage {
  checkFields('CONFIGURATION', 'injection()', options, 'patterns:array|?');
  const patterns = (options.patterns ?? injectionPatterns()).map(toPattern);
  return {
    name: 'injection',
    check(input) {
      const raw = textsOf(input).join('\n');
      return isFound(raw, patterns) || isFound(decoded(raw), patterns)
        ? { category: 'PROMPT_INJECTION' }
        : input;
    },
  };
}

function toPattern(given: unknown): InjectionPattern {
  if (given instanceof RegExp) return { in: 'text', pattern: given };
  if (
    isRecord(given) &&
    given['pattern'] instanceof RegExp &&
    /^(text|words|letters)$/.test(String(given['in']))
  ) {
    return given as unknown as InjectionPattern;
  }
  throw new AgentError(
    'CONFIGURATION',
    'injection(): a pattern must be a RegExp, or { in, pattern }.',
  );
}

function isFound(raw: string, patterns: readonly InjectionPattern[]): boolean {
  if (!raw) return false;
  const plain = plainText(raw);
  // `search` starts at the beginning whatever the flags are.
  return patterns.some(({ in: form, pattern }) => plain[form].search(pattern) >= 0);
}

/**
 * What stands in the text as base64, where it is text; in pieces of whole groups, as a run may be
 * as long as the text.
 */
function decoded(raw: string): string {
  const joined = withoutInvisible(raw).replace(
    /\r?\n(?<=[A-Za-z0-9+/]{20}\r?\n)(?=[A-Za-z0-9+/])/g,
    '',
  );
  const found = joined.match(/[A-Za-z0-9+/]{20,4000}/g) ?? [];
  return found.map(decodeBase64).join('');
}

function decodeBase64(base64: string): string {
  // What is left over of a group of four was not base64, or its end.
  const bytes = atob(base64.slice(0, base64.length - (base64.length % 4 === 1 ? 1 : 0)));
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
  // A piece may begin and end within a character; what has more gaps is no text.
  return text.split('\ufffd', 6).length < 6 ? text : '';
}
