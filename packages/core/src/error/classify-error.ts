import { AgentError, errorText, fieldsOf, type AgentErrorCode } from './agent-error.ts';
import {
  errorStatusIn,
  matchFailure,
  failureInWords,
  modelFailure,
  type FailurePattern,
  type ModelFailure,
} from './model-failure.ts';
import { retryAfterOf } from './retry-after.ts';

/** What `classifyError()` says about an error: its code, and whether another try may help. */
export interface ErrorClass extends ModelFailure {
  /** `ABORTED` means a cancellation, `INTERNAL` an unknown failure. */
  readonly code: AgentErrorCode;
  /** Wait that the server asked for, in milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * Classifies any thrown value. Checks the first ten errors of the cause chain. An `AgentError` has
 * its own code. For any other error, the HTTP status and the words of the server decide, then the
 * name or code of a platform error. If no error of the chain has one of these, the words of all
 * messages decide. Source: Arc Reactor, transient errors.
 */
export function classifyError(error: unknown): ErrorClass {
  const chain = causesOf(error);
  for (const link of chain) {
    const errorClass = byFields(link);
    if (errorClass) return errorClass;
  }
  return byMessage(chain.map(wordsOf).join('\n'));
}

/**
 * Returns the words of an error or thrown object: its names, its message, and what the server said.
 * The SDKs of the providers keep that in different fields.
 */
function wordsOf(link: unknown): string {
  const { name, code, type, status, message, error, responseBody, response } = fieldsOf(link);
  const words = typeof message === 'string' && message ? message : errorText(link);
  const body = wordsOfBody(responseBody ?? error ?? fieldsOf(response)['data'] ?? '');
  return [code, type, status, name, words.slice(0, maxWordsLength), body]
    .filter((word) => typeof word === 'string' && word)
    .join('\n');
}

const maxChainLength = 10;

/** Maximum length of a message. The message of a server may quote a whole request. */
const maxWordsLength = 2_000;

/** Error names and codes of platforms, one a line: DOMException, Node's system errors, undici. */
const namePatterns: readonly FailurePattern[] = [
  [/^(AbortError|UND_ERR_ABORTED)$/m, 'ABORTED'],
  [/^(TimeoutError|ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/m, 'MODEL_TIMEOUT', true],
  [
    /^(NetworkError|ECONN\w+|EPIPE|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|ENET\w+|UND_ERR_SOCKET)$/m,
    'MODEL_UNREACHABLE',
    true,
  ],
];

/** The status of a failed request in a message, as in "HTTP 503" or "Upstream: 429." */
const statusInWords = /(?:(?:status|http|error|code)[^a-z0-9]*|(?:^|: *))(429|5\d\d)(?![\da-z])/im;

/**
 * Messages of `fetch` in undici, Chromium, WebKit, Firefox and workerd. Node's error codes are
 * here, because some errors have them only in their text.
 */
const networkWords =
  /connection (refused|reset|error|closed)|socket hang up|\b(ECONN(RESET|REFUSED|ABORTED)|EPIPE|EAI_AGAIN|ENOTFOUND)\b|^(TypeError: )?(fetch failed|failed to fetch$|load failed|terminated$|(the )?network ?(error|connection))/im;

/** Returns the errors of the chain. AI SDK's `RetryError` has no cause, but a last error. */
function causesOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (
    let link = error;
    link !== undefined && link !== null && chain.length < maxChainLength;
    link = fieldsOf(link)['cause'] ?? fieldsOf(link)['lastError']
  )
    chain.push(link);
  return chain;
}

/**
 * Classifies one error of the chain by its fields. Returns `undefined` if the fields are not
 * enough. Skips an `INTERNAL` error, because it only wraps another error.
 */
function byFields(link: unknown): ErrorClass | undefined {
  if (AgentError.is(link)) {
    const { code, retryable: transient, details } = link;
    const retryAfterMs = details?.['retryAfterMs'];
    if (code === 'INTERNAL' && !transient) return undefined;
    return {
      code,
      transient: transient === true,
      ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    };
  }
  const { name, code } = fieldsOf(link);
  const status = statusOf(link);
  if (status !== undefined) return withWait(modelFailure(wordsOf(link), status)!, link);
  const names = [name, code].filter((word) => typeof word === 'string');
  return matchFailure(namePatterns, names.join('\n'));
}

/** Returns the words of a body: its JSON without escaped letters, or its text. */
function wordsOfBody(body: unknown): string {
  try {
    const value: unknown = typeof body === 'string' ? JSON.parse(body) : body;
    return JSON.stringify(value) ?? '';
  } catch {
    // Not JSON, or an object with a cycle.
    return typeof body === 'string' ? body : '';
  }
}

/** Returns the headers of a response, which may be from any library. */
function headersIn(source: unknown): Headers {
  const headers = new Headers();
  const add = (value: unknown, name: unknown): void => {
    const isText = typeof value === 'string' || typeof value === 'number';
    if (isText && /^[a-z][a-z-]*$/i.test(String(name))) headers.set(String(name), String(value));
  };
  const { forEach } = fieldsOf(source);
  if (typeof forEach === 'function') forEach.call(source, add);
  else for (const [name, value] of Object.entries(fieldsOf(source))) add(value, name);
  return headers;
}

/** Adds the wait that the server asked for. */
function withWait(failure: ModelFailure, link: unknown): ErrorClass {
  const { headers, responseHeaders, response, $response } = fieldsOf(link);
  const retryAfterMs = retryAfterOf(
    headersIn(headers ?? responseHeaders ?? fieldsOf(response ?? $response)['headers']),
    wordsOf(link),
    failure.code === 'MODEL_RATE_LIMITED',
  );
  return { ...failure, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Returns the HTTP status of a failed request, where the SDKs of the providers put it. */
function statusOf(link: unknown): number | undefined {
  const { status, statusCode, code, response, $metadata } = fieldsOf(link);
  const responseStatus = fieldsOf(response)['status'];
  const metadataStatus = fieldsOf($metadata)['httpStatusCode'];
  return errorStatusIn([status, statusCode, code, responseStatus, metadataStatus]);
}

function byMessage(words: string): ErrorClass {
  const status = statusInWords.exec(words)?.[1];
  const failure = status ? modelFailure(words, Number(status)) : failureInWords(words);
  if (failure) return withWait(failure, { message: words });
  return networkWords.test(words)
    ? { code: 'MODEL_UNREACHABLE', transient: true }
    : { code: 'INTERNAL', transient: false };
}
