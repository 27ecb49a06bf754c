import { fieldOf, type AgentErrorCode } from './agent-error.ts';
import { checkOptions } from './options/check-options.ts';
import { object, optional, string } from './options/kinds.ts';
import type { OptionTable } from './options/option-table.ts';
import { userErrorTexts } from './user-error-texts.ts';

/**
 * Reason for a guard's rejection: `details.category` of a `GUARD_REJECTED` error. The last two
 * values are about answers. Source: Arc Reactor, `GuardModels`.
 */
export type GuardCategory =
  | 'RATE_LIMITED'
  | 'INVALID_INPUT'
  | 'PROMPT_INJECTION'
  | 'OFF_TOPIC'
  | 'UNAUTHORIZED'
  | 'SYSTEM_ERROR'
  | 'OUTPUT_REJECTED'
  | 'OUTPUT_TOO_SHORT';

/** Key of a text: an error code or a guard's category. */
export type UserErrorKey = AgentErrorCode | `GUARD_REJECTED:${GuardCategory}`;
/** Texts for users, by error code or guard category. */
export type UserErrorTexts = Readonly<Record<UserErrorKey, string>>;
/** A language that `userErrorText()` has texts in. */
export type ErrorLanguage = 'en' | 'zh' | 'ja' | 'ko';

/** The language of `userErrorText()`, and texts of your own. */
export interface UserErrorTextOptions {
  /**
   * Language tag, such as `ja-JP`. Only the part before the first `-` or `_` counts. Supported:
   * `en`, `zh`, `ja`, `ko`. For any other language, the text is English. Default: `en`.
   */
  readonly locale?: string;
  /** Texts that replace the library's own. */
  readonly messages?: Partial<UserErrorTexts>;
}

/**
 * Returns the text to show a user for any thrown value, an error's data or a result's `error`. The
 * text is fixed for each code and guard category and never quotes the error. Any value that is not
 * an `AgentError` counts as `INTERNAL`. Source: Arc Reactor, `ErrorMessageResolver`.
 */
export function userErrorText(error: unknown, options: UserErrorTextOptions = {}): string {
  checkOptions('userErrorText()', options, userErrorTextOptions, 'INVALID_INPUT');
  const { locale = 'en', messages = {} } = options;
  const language = String(locale).toLowerCase().split(/[-_]/, 1)[0]!;
  const texts = Object.hasOwn(userErrorTexts, language)
    ? userErrorTexts[language as ErrorLanguage]
    : userErrorTexts.en;
  for (const key of keysOf(error)) {
    if (!Object.hasOwn(texts, key)) continue;
    const replacement: unknown = Object.hasOwn(messages, key) ? messages[key] : undefined;
    return typeof replacement === 'string' ? replacement : texts[key];
  }
  return messages.INTERNAL ?? texts.INTERNAL;
}

const userErrorTextOptions: OptionTable<UserErrorTextOptions> = {
  locale: optional(string),
  messages: optional(object),
};

/** Returns the keys to look up, the most specific first. */
function keysOf(error: unknown): readonly UserErrorKey[] {
  const code = fieldOf(error, 'code');
  const category = fieldOf(fieldOf(error, 'details'), 'category');
  const codes = typeof category === 'string' ? [`${String(code)}:${category}`, code] : [code];
  return codes.filter((key) => typeof key === 'string') as UserErrorKey[];
}
