import { shortenText } from '../../message/text.ts';
import { AgentError, fieldsOf } from '../../error/agent-error.ts';
import { errorStatusIn, modelFailure, type ModelFailure } from '../../error/model-failure.ts';
import { retryAfterOf } from '../../error/retry-after.ts';
import { addressOf } from './base-url.ts';
import { isObjectOrArray, parseJson, omitUndefined } from '../../message/json.ts';

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
  // If the text names a model, the address is right and the model is missing.
  const isUnknown = status === 404 && !/model/i.test(text);
  const title = `HTTP ${status} from the model server${isUnknown ? hint : ''}`;
  return providerError(title, parseJson(text), text, { status, headers });
}

/**
 * Returns the error that a chunk reports, if any. Such a chunk is `{ error: … }`,
 * `{ object: 'error' }`, `{ code: 'text' }`, or the data of an `error` event. DeepInfra sends
 * `{ error_message }` (https://github.com/NousResearch/hermes-agent/issues/65631), and MiniMax
 * `{ base_resp: { status_code, status_msg } }`
 * (https://github.com/CherryHQ/cherry-studio/issues/11287). `failureOfCode`: returns what a text as
 * `code` means. Default: if it is unknown, the server failed.
 */
export function errorOfChunk(
  chunk: unknown,
  isErrorEvent = false,
  failureOfCode?: FailureOfCode,
): AgentError | undefined {
  const { error, error_message, base_resp, object, code } = fieldsOf(chunk);
  const problem = error || error_message || (base_resp && fieldsOf(base_resp)['status_code']);
  if (!isErrorEvent && !problem && !isText(code) && object !== 'error') return undefined;
  const text = JSON.stringify(chunk);
  return providerError('The model server reported an error', chunk, text, { failureOfCode });
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

type FailureOfCode = (words: string) => ModelFailure | undefined;

interface Answer {
  /** HTTP status. Absent for an error inside a reply. */
  readonly status?: number;
  readonly headers?: Headers;
  readonly failureOfCode?: FailureOfCode | undefined;
}

/**
 * Builds the error from a body. The body is `{ error: { message, code, type } }`, `{ error: 'text'
 * }`, `{ message }`, `{ detail }`, or an array with one of these (Gemini).
 */
function providerError(
  title: string,
  body: unknown,
  text: string,
  { status, headers, failureOfCode }: Answer,
): AgentError {
  const outer = fieldsOf(Array.isArray(body) ? body[0] : body);
  const inner = isObjectOrArray(outer['error']) ? outer['error'] : outer;
  const words = [
    inner['message'],
    outer['error'],
    inner['detail'],
    outer['error_message'],
    fieldsOf(outer['base_resp'])['status_msg'],
  ].find(isText);
  const providerCode = [inner['code'], inner['type']].find(isText);
  // JSON without escaped letters.
  const bodyWords = JSON.stringify(body) ?? text;
  const { code, transient } =
    status === undefined
      ? failureInReply(bodyWords, inner, providerCode ? failureOfCode : undefined)
      : modelFailure(bodyWords, status)!;
  const retryAfterMs = retryAfterOf(headers, bodyWords, code === 'MODEL_RATE_LIMITED');
  return new AgentError(code, `${title}: ${words ? quote(words, 600) : quote(text)}`, {
    // OpenAI, Anthropic and the model proxy of `edge` send it.
    retryable: transient && headers?.get('x-should-retry') !== 'false',
    details: omitUndefined({ status, retryAfterMs, providerCode }),
  });
}

/**
 * Returns what an error inside a reply means: what its words say, or else the status in it, as over
 * HTTP (https://github.com/dcdpr/jp/pull/978). Without both, the server failed.
 */
function failureInReply(
  words: string,
  { code, status_code: statusCode, status }: Readonly<Record<string, unknown>>,
  failureOfCode: FailureOfCode = modelFailure,
): ModelFailure {
  const chunkStatus = errorStatusIn([code, statusCode, status]) ?? 500;
  return failureOfCode(words) ?? modelFailure('', chunkStatus)!;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Returns the text, or the title of a page, on one line, shortened to `length` characters. */
export function quote(text: string, length = 200): string {
  // The page of a gateway begins with scripts and styles.
  const title = /^\s*<[^]*?<title>([^<]+)/i.exec(text)?.[1];
  return shortenText((title ?? text).trim().replace(/\s+/g, ' '), length);
}
