import { AgentError } from '../../error/agent-error.ts';
import {
  errorMessage,
  type ErrorMessageOptions,
  type GuardCategory,
} from '../../error/error-message.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { JsonObject } from '../../message/json/json.ts';

/** Rejection by a stage. */
export interface StageRejection {
  readonly category: GuardCategory;
  /** Message for the user. Default: the text for the category. */
  readonly message?: string;
  /** Data for programs. The error's `details` contain it, together with `category` and `stage`. */
  readonly details?: JsonObject;
}

/** Creates the error of a rejection. The error quotes neither the input nor an exception. */
export function rejectionError(
  stage: string,
  { category, message, details }: StageRejection,
  { locale = 'en', messages = {} }: ErrorMessageOptions,
): AgentError {
  const about = { ...details, category, stage };
  const error = { code: 'GUARD_REJECTED', details: about };
  const words = message ?? errorMessage(error, { locale, messages });
  return new AgentError('GUARD_REJECTED', words, {
    retryable: category === 'RATE_LIMITED',
    details: about,
  });
}

/** Checks that the value is a well-formed rejection. */
export function isRejection(value: unknown): value is StageRejection {
  if (!isRecord(value) || Array.isArray(value)) return false;
  const { category, message, details } = value;
  return (
    typeof category === 'string' &&
    /^(RATE_LIMITED|INVALID_INPUT|PROMPT_INJECTION|OFF_TOPIC|UNAUTHORIZED|SYSTEM_ERROR|OUTPUT_REJECTED|OUTPUT_TOO_SHORT)$/.test(
      category,
    ) &&
    (message === undefined || typeof message === 'string') &&
    (details === undefined || isRecord(details))
  );
}
