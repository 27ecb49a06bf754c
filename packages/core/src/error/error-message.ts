import type { AgentError, AgentErrorCode } from './agent-error.ts';
import { languages } from './error-words.ts';

/**
 * Why a guard said no: a `GUARD_REJECTED` has it as `details.category`. The last two are about
 * answers (Arc Reactor: `GuardModels`).
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

/** What there is a message for: a code, or a guard's category. */
export type ErrorMessageKey = AgentErrorCode | `GUARD_REJECTED:${GuardCategory}`;
export type ErrorMessages = Readonly<Record<ErrorMessageKey, string>>;
export type ErrorLanguage = 'en' | 'zh' | 'ja' | 'ko';

export interface ErrorMessageOptions {
  /**
   * A language tag; what stands before its first `-` counts. `en`, `zh`, `ja`, `ko`; others are
   * English. Default `en`.
   */
  readonly locale?: string;
  /** In place of ours. */
  readonly messages?: Partial<ErrorMessages>;
}

/** Words for a user; `errorMessage` is one. */
export type ErrorMessageResolver = (error: unknown, options?: ErrorMessageOptions) => string;

/**
 * What to tell a user about anything that can be thrown, an error's data or a result's `error`:
 * fixed words by its code, never text of the error itself. Anything that is no `AgentError` is
 * `INTERNAL` (Arc Reactor: `ErrorMessageResolver`).
 */
export function errorMessage(error: unknown, options: ErrorMessageOptions = {}): string {
  const { locale = 'en', messages = {} } = options;
  const language = String(locale).toLowerCase().split(/[-_]/, 1)[0]!;
  const ours = Object.hasOwn(languages, language)
    ? languages[language as ErrorLanguage]
    : languages.en;
  for (const key of keysOf(error)) {
    if (!Object.hasOwn(ours, key)) continue;
    const own: unknown = Object.hasOwn(messages, key) ? messages[key] : undefined;
    return typeof own === 'string' ? own : ours[key];
  }
  return messages.INTERNAL ?? ours.INTERNAL;
}

/** The most telling first. What was thrown may be anything, fields that throw included. */
function keysOf(error: unknown): readonly ErrorMessageKey[] {
  try {
    const { code, details } = Object(error) as Partial<AgentError>;
    const category: unknown = Object(details)['category'];
    const codes = typeof category === 'string' ? [`${code}:${category}`, code] : [code];
    return codes.filter((key) => typeof key === 'string') as ErrorMessageKey[];
  } catch {
    return [];
  }
}
