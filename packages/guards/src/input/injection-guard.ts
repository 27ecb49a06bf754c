import { textWithUrls } from './text-with-urls.ts';
import {
  checkFields,
  checkOptions,
  array,
  oneOf,
  optional,
  withMethod,
  type OptionTable,
} from '@isoloop/core/options';
import { injectionPatterns } from './injection-patterns.ts';
import type { Msg } from '@isoloop/core';
import type { Rejection } from '../rejection.ts';
import {
  inputGuardOf,
  inputGuardOptions,
  type InputGuard,
  type InputGuardOptions,
} from './input-guard.ts';
import {
  hasTags,
  textForms,
  type TextForms,
  tagsOnly,
  withoutInvisible,
  withReadTags,
} from '../normalize-text.ts';

/**
 * A pattern and the name of the form of the text to search (see `TextForms`). All forms are in
 * lower case.
 */
export interface InjectionPattern {
  readonly in: keyof TextForms;
  readonly pattern: RegExp;
}

/** Which texts `injectionGuard()` looks for. */
export interface InjectionGuardOptions extends InputGuardOptions {
  /**
   * Patterns to use instead of `injectionPatterns()`. A bare RegExp searches `text`. Each must take
   * linear time. Do not put `+`, `*` or a large count inside another one, or before an expression
   * that matches the same text. The built-in patterns have no unbounded count.
   */
  readonly patterns?: readonly (RegExp | InjectionPattern)[];
}

/**
 * Rejects attempts to give the model new instructions in English, Korean, Chinese or Japanese. It
 * checks all texts of the input, including tool results and decoded base64. Before the check it
 * removes invisible characters and folds fullwidth forms and look-alike letters. It also reads what
 * tag characters spell. Patterns are only a first filter: new wordings pass. Source: Arc Reactor,
 * `DefaultInjectionDetectionStage`.
 */
export function injectionGuard(options: InjectionGuardOptions = {}): InputGuard {
  checkOptions('injectionGuard()', options, injectionGuardOptions);
  const patterns = (options.patterns ?? injectionPatterns()).map(toPattern);
  const check = (input: readonly Msg[]): readonly Msg[] | Rejection => {
    const raw = textWithUrls(input);
    const readings = hasTags(raw) ? [raw, withReadTags(raw), tagsOnly(raw)] : [raw];
    return readings.some(
      (text) => isFound(text, patterns) || isFound(decodeAllBase64(text), patterns),
    )
      ? { category: 'PROMPT_INJECTION' }
      : input;
  };
  return inputGuardOf('injectionGuard', check, options);
}

const injectionGuardOptions: OptionTable<InjectionGuardOptions> = {
  patterns: optional(array),
  ...inputGuardOptions,
};

function toPattern(pattern: RegExp | InjectionPattern): InjectionPattern {
  if (pattern instanceof RegExp) return { in: 'text', pattern };
  checkFields('injectionGuard(): a pattern', pattern, injectionPattern);
  return pattern;
}

const injectionPattern: OptionTable<InjectionPattern> = {
  in: oneOf('text', 'words', 'letters'),
  pattern: withMethod('exec'),
};

function isFound(raw: string, patterns: readonly InjectionPattern[]): boolean {
  if (!raw) return false;
  const plain = textForms(raw);
  // `search` starts at the beginning whatever the flags are.
  return patterns.some(({ in: form, pattern }) => plain[form].search(pattern) >= 0);
}

/**
 * Decodes base64 in the text, if the result is text. Decodes long base64 in pieces of whole
 * four-character groups, because the base64 may be as long as the text.
 */
function decodeAllBase64(raw: string): string {
  const singleLine = withoutInvisible(raw).replace(
    /\r?\n(?<=[A-Za-z0-9+/]{20}\r?\n)(?=[A-Za-z0-9+/])/g,
    '',
  );
  const found = singleLine.match(/[A-Za-z0-9+/]{20,4000}/g) ?? [];
  return found.map(decodeBase64).join('');
}

function decodeBase64(base64: string): string {
  // Drops a single character after the last group of four, which `atob` would refuse.
  const bytes = atob(base64.slice(0, base64.length - (base64.length % 4 === 1 ? 1 : 0)));
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
  // A piece may begin and end within a character. More replacement characters mean that it is not
  // text.
  return text.split('\ufffd', 6).length < 6 ? text : '';
}
