import { shortenText } from '../../message/text.ts';
import { AgentError, type AgentErrorCode, fieldsOf } from '../../error/agent-error.ts';
import { addressOf } from './base-url.ts';
import { isObjectOrArray, parseJson, omitUndefined } from '../../message/json.ts';

const contextLengthPattern =
  /context.?(length|window|size)|(prompt|input) (is )?(too l|length)|(input|many) token|reduce the length/i;

/**
 * Returns the error for an HTTP status that is not a success. `hint`: text to add if the server
 * does not know the address.
 */
export function errorOfResponse(
  status: number,
  headers: Headers,
  text: string,
  hint = '',
): AgentError {
  // Browsers hide the target of a redirect, and its status is 0 there.
  if (status < 400) {
    const target = addressOf(headers.get('location') ?? 'a hidden address');
    const message = `The model server redirects to ${target}. Set baseURL to it if you trust it.`;
    return new AgentError('MODEL_BAD_RESPONSE', message);
  }
  const retryAfter = headers.get('retry-after') || 'none';
  // `retry-after-ms` is in milliseconds, `retry-after` in seconds or a date.
  const retryAfterMs = [
    Number(headers.get('retry-after-ms') || NaN),
    Number(retryAfter) * 1000,
    Math.max(0, Date.parse(retryAfter) - Date.now()),
  ].find((ms) => ms >= 0);
  const details = omitUndefined({ status, retryAfterMs });
  // If the text names a model, the address is right and the model is missing.
  const isUnknown = status === 404 && !/model/i.test(text);
  const title = `HTTP ${status} from the model server${isUnknown ? hint : ''}`;
  return providerError(title, parseJson(text), text, details);
}

/**
 * Returns the error that a chunk reports, if any. Such a chunk is `{ error: … }`, `{ object:
 * 'error' }`, `{ code: 'text' }`, or the data of an `error` event.
 */
export function errorOfChunk(chunk: unknown, isErrorEvent = false): AgentError | undefined {
  const { error, object, code } = fieldsOf(chunk);
  if (!isErrorEvent && !error && !isText(code) && object !== 'error') return undefined;
  return providerError('The model server reported an error', chunk, JSON.stringify(chunk));
}

/**
 * Returns the error for a reply that violates the protocol. Set `retryable` if the reply is
 * incomplete.
 */
export function badResponseError(problem: string, text: string, retryable = false): AgentError {
  return new AgentError('MODEL_BAD_RESPONSE', `${problem}: ${quote(text) || '(nothing)'}`, {
    retryable,
  });
}

interface HttpDetails {
  readonly status?: number;
  readonly retryAfterMs?: number;
}

/**
 * Builds the error from a body. The body is `{ error: { message, code, type } }`, `{ error: 'text'
 * }`, `{ message }`, `{ detail }`, or an array with one of these (Gemini).
 */
function providerError(
  title: string,
  body: unknown,
  text: string,
  details: HttpDetails = {},
): AgentError {
  const outer = fieldsOf(Array.isArray(body) ? body[0] : body);
  const inner = isObjectOrArray(outer['error']) ? outer['error'] : outer;
  const words = [inner['message'], outer['error'], inner['detail']].find(isText);
  const providerCode = [inner['code'], inner['type']].find(isText) ?? '';
  const status =
    details.status ??
    [inner['code'], inner['status_code'], inner['status']].find(isErrorStatus) ??
    500;
  const code = classify(status, `${providerCode} ${words ?? text}`, details.status);
  const isTransient = code === 'MODEL_SERVER' ? status >= 500 : /RATE|TIMEOUT/.test(code);
  return new AgentError(code, `${title}: ${words ? quote(words, 600) : quote(text)}`, {
    retryable: isTransient && providerCode !== 'insufficient_quota',
    details: { ...details, ...(providerCode && { providerCode }) },
  });
}

/**
 * Returns the code of an error. An error inside a reply has no `httpStatus`. If such an error is
 * not recognized, it counts as a failure of the server, whatever status the chunk contains.
 */
function classify(status: number, words: string, httpStatus: number | undefined): AgentErrorCode {
  if (status === 401 || status === 403) return 'MODEL_AUTH';
  if (status === 429 || /^rate_?limit/i.test(words)) return 'MODEL_RATE_LIMITED';
  if (contextLengthPattern.test(words)) return 'MODEL_CONTEXT_LENGTH';
  if (status === 408) return 'MODEL_TIMEOUT';
  return status >= 500 || !httpStatus ? 'MODEL_SERVER' : 'MODEL_REQUEST';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isErrorStatus(value: unknown): value is number {
  return typeof value === 'number' && value >= 400;
}

/** Returns the text on one line, shortened to `length` characters. */
export function quote(text: string, length = 200): string {
  return shortenText(text.trim().replace(/\s+/g, ' '), length);
}
