import { AgentError, fieldOf, fieldsOf } from './agent-error.ts';
import { addSecretForms, maskSecrets } from './mask-secrets.ts';
import { array } from './options/kinds.ts';
import { checkFields } from './options/check-fields.ts';

/** Maximum number of errors in one log entry, so that a cycle of causes ends. */
const maxErrors = 10;

/** Maximum length of a log entry, in characters. */
const maxLength = 10_000;

/**
 * Characters at the end of a shortened text that are left out, because they may be the beginning of
 * a secret.
 */
const margin = 1_000;

/**
 * Returns the text of any thrown value for a log: its stack, its causes and the errors of an
 * `AggregateError`. The text of an `AgentError` begins with its code. Replaces secrets as
 * `maskSecrets` does. Has at most 10,000 characters.
 */
export function logText(thrown: unknown): string {
  const texts: string[] = [];
  const remainingErrors: unknown[] = [thrown];
  while (remainingErrors.length && texts.length < maxErrors) {
    const error = remainingErrors.shift();
    texts.push(ownText(error));
    remainingErrors.push(...causesOf(error));
  }
  const chainText = texts.join('\nCaused by: ');
  const maskedText = maskSecrets(chainText.slice(0, 2 * maxLength));
  return maskedText.slice(
    0,
    Math.min(maxLength, maskedText.length - (chainText.length > 2 * maxLength ? margin : 0)),
  );
}

/**
 * Adds values that all later logs mask: those of `logText`, `maskSecrets` and traces, and the
 * library's warnings on the console. The values are masked in URLs, JSON and base64, too. Ignores
 * values of less than 4 characters.
 *
 * @example
 * addSecrets([process.env.OPENAI_API_KEY]);
 */
export function addSecrets(values: readonly unknown[]): void {
  checkFields('addSecrets()', { values }, { values: array });
  addSecretForms(values);
}

/** Returns the text of one error, even if its fields cannot be read. */
function ownText(error: unknown): string {
  try {
    const code = AgentError.is(error) ? `${error.code}: ` : '';
    const { name, message, stack } = fieldsOf(error) as Partial<Error>;
    if (typeof stack !== 'string') return message ? `${code}${name}: ${message}` : String(error);
    return message && !stack.includes(message) ? `${code}${message}\n${stack}` : code + stack;
  } catch {
    return 'Unreadable error';
  }
}

function causesOf(error: unknown): readonly unknown[] {
  const errors = fieldOf(error, 'errors');
  const cause = fieldOf(error, 'cause');
  return [...(Array.isArray(errors) ? (errors as unknown[]) : []), ...(cause ? [cause] : [])];
}
