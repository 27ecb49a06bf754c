import { checkOptions, fieldOf, type AgentErrorCode } from './agent-error.ts';
import { errorTexts } from './error-texts.ts';

/**
 * Reason for a guard's rejection: `details.category` of a `GUARD_REJECTED` error. The last two
 * values are about answers (Arc Reactor: `GuardModels`).
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

/** Key of a message: an error code or a guard's category. */
export type ErrorMessageKey = AgentErrorCode | `GUARD_REJECTED:${GuardCategory}`;
/** Texts for users, by error code or guard category. */
export type ErrorMessages = Readonly<Record<ErrorMessageKey, string>>;
/** A language that `errorMessage()` has texts in. */
export type ErrorLanguage = 'en' | 'zh' | 'ja' | 'ko';

/** The language of `errorMessage()`, and texts of your own. */
export interface ErrorMessageOptions {
  /**
   * Language tag, such as `ja-JP`. Only the part before the first `-` or `_` counts. Supported:
   * `en`, `zh`, `ja`, `ko`. For any other language, the text is English. Default: `en`.
   */
  readonly locale?: string;
  /** Texts that replace the library's own. */
  readonly messages?: Partial<ErrorMessages>;
}

/** Function that returns the text to show a user. Example: `errorMessage`. */
export type ErrorMessageResolver = (error: unknown, options?: ErrorMessageOptions) => string;

/**
 * Returns the text to show a user for any thrown value, an error's data or a result's `error`. The
 * text is fixed for each code and guard category and never quotes the error. Any value that is not
 * an `AgentError` counts as `INTERNAL` (Arc Reactor: `ErrorMessageResolver`).
 */
export function errorMessage(error: unknown, options: ErrorMessageOptions = {}): string {
  checkOptions('errorMessage()', options, 'locale:string|? messages:object|?', 'INVALID_INPUT');
  const { locale = 'en', messages = {} } = options;
  const language = String(locale).toLowerCase().split(/[-_]/, 1)[0]!;
  const ours = Object.hasOwn(errorTexts, language)
    ? errorTexts[language as ErrorLanguage]
    : errorTexts.en;
  for (const key of keysOf(error)) {
    if (!Object.hasOwn(ours, key)) continue;
    const own: unknown = Object.hasOwn(messages, key) ? messages[key] : undefined;
    return typeof own === 'string' ? own : ours[key];
  }
  return messages.INTERNAL ?? ours.INTERNAL;
}

/** Returns the keys to look up, the most specific first. */
function keysOf(error: unknown): readonly ErrorMessageKey[] {
  const code = fieldOf(error, 'code');
  const category = fieldOf(fieldOf(error, 'details'), 'category');
  const codes = typeof category === 'string' ? [`${String(code)}:${category}`, code] : [code];
  return codes.filter((key) => typeof key === 'string') as ErrorMessageKey[];
}
