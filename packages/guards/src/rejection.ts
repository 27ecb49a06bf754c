import { AgentError, type JsonObject } from '@isoloop/core';
import {
  userErrorText,
  type UserErrorTextOptions,
  type GuardCategory,
  reportFailure,
} from '@isoloop/core/error';
import { func, object, optional, string, type OptionTable } from '@isoloop/core/options';
import { isRecord } from '@isoloop/core/message';

/** Reason why a guard or a rule lets a text not pass. */
export interface Rejection {
  readonly category: GuardCategory;
  /** Message for the user. Default: the text for the category. */
  readonly message?: string;
  /** Data for programs. The error's `details` contain it, together with `category` and `stage`. */
  readonly details?: JsonObject;
}

/** Options of all guards. `locale` and `messages` choose the text of rejections. */
export interface GuardOptions extends UserErrorTextOptions {
  /**
   * Gets exceptions of guards and rules, with the name of the guard or rule. They are reported
   * nowhere else. Default: `console.warn`.
   */
  readonly onError?: (error: unknown, name: string) => void;
}

export const guardOptions: OptionTable<GuardOptions> = {
  locale: optional(string),
  messages: optional(object),
  onError: optional(func),
};

/** Function that gets exceptions, with the name of the guard or rule that threw. */
export type ReportGuardError = (error: unknown, name: string) => void;

/**
 * Returns a function that passes exceptions to `onError`. If `onError` throws, the result of the
 * guard does not change.
 */
export function reporter({ onError }: GuardOptions): ReportGuardError {
  return (error, name) => reportFailure(`Guard "${name}" failed:`, onError, error, name);
}

/**
 * Creates the error of a rejection by the guard or rule `name`. The error quotes neither the input
 * nor an exception.
 */
export function rejectionError(
  name: string,
  { category, message, details }: Rejection,
  { locale = 'en', messages = {} }: UserErrorTextOptions,
): AgentError {
  const allDetails = { ...details, category, stage: name };
  const error = { code: 'GUARD_REJECTED', details: allDetails };
  const words = message ?? userErrorText(error, { locale, messages });
  return new AgentError('GUARD_REJECTED', words, {
    retryable: category === 'RATE_LIMITED',
    details: allDetails,
  });
}

const allCategories: Readonly<Record<GuardCategory, true>> = {
  RATE_LIMITED: true,
  INVALID_INPUT: true,
  PROMPT_INJECTION: true,
  OFF_TOPIC: true,
  UNAUTHORIZED: true,
  SYSTEM_ERROR: true,
  OUTPUT_REJECTED: true,
  OUTPUT_TOO_SHORT: true,
};

/** Every `GuardCategory`. */
export const guardCategories: readonly string[] = Object.keys(allCategories);

/** Returns whether the value is a well-formed rejection. */
export function isGuardRejection(value: unknown): value is Rejection {
  if (!isRecord(value)) return false;
  const { category, message, details } = value;
  return (
    guardCategories.includes(category as string) &&
    (message === undefined || typeof message === 'string') &&
    (details === undefined || isRecord(details))
  );
}
