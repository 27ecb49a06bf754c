import { AgentError, type AgentErrorCode } from '../error/agent-error.ts';

/** What a provider says about a failure, in any of the shapes they use. */
interface ProviderProblem {
  readonly words: string;
  /** Its own word for it: `insufficient_quota`. */
  readonly code: string | undefined;
  /** An HTTP status. */
  readonly status: number | undefined;
}

const contextLength =
  /context.?(length|window|size)|(prompt|input)( is)? too (long|large)|(prompt|input) length|input token count|reduce the length|too many (input )?tokens/i;

/** The error behind an HTTP status that is no success. */
export function errorOfResponse(status: number, headers: Headers, text: string): AgentError {
  const { words, code } = problemIn(parseJson(text)) ?? { words: quote(text), code: undefined };
  const retryAfterMs = retryAfter(headers.get('retry-after'));
  return new AgentError(
    classify(status, code, words) ?? (status >= 500 ? 'MODEL_SERVER' : 'MODEL_REQUEST'),
    `HTTP ${status} from the model server: ${words}`,
    {
      retryable: isRetryable(status, code),
      details: { status, ...(code ? { providerCode: code } : {}), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    },
  );
}

/** The error that a chunk reports, if it does: `{ error: … }`, `{ object: 'error' }`, or whatever an `error` event carries. */
export function errorOfChunk(chunk: unknown, isErrorEvent = false): AgentError | undefined {
  const { error, object } = (chunk ?? {}) as { readonly error?: unknown; readonly object?: unknown };
  if (!isErrorEvent && !error && object !== 'error') return undefined;
  const { words, code, status = 500 } = problemIn(chunk) ?? { words: quote(JSON.stringify(chunk)), code: undefined };
  return new AgentError(classify(status, code, words) ?? 'MODEL_SERVER', `The model server reported an error: ${words}`, {
    retryable: isRetryable(status, code),
    details: code ? { providerCode: code } : {},
  });
}

/** A reply that is not the protocol; `retryable` where it only broke off. */
export function badResponse(problem: string, text: string, retryable = false): AgentError {
  return new AgentError('MODEL_BAD_RESPONSE', `${problem}: ${quote(text) || '(nothing)'}`, { retryable });
}

/** `undefined` where the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function classify(status: number, code = '', words: string): AgentErrorCode | undefined {
  if (status === 401 || status === 403) return 'MODEL_AUTH';
  if (status === 429 || /rate_?limit/i.test(code)) return 'MODEL_RATE_LIMITED';
  if (contextLength.test(code + words)) return 'MODEL_CONTEXT_LENGTH';
  return status === 408 ? 'MODEL_TIMEOUT' : undefined;
}

function isRetryable(status: number, code = ''): boolean {
  return (status >= 500 || status === 429 || status === 408 || /rate_?limit/i.test(code)) && code !== 'insufficient_quota';
}

/** `{ error: { message, code, type } }`, `{ error: 'text' }`, `{ message }`, `{ detail }`, or an array of one of them (Gemini). */
function problemIn(body: unknown): ProviderProblem | undefined {
  const outer = toObject(Array.isArray(body) ? body[0] : body);
  const inner = typeof outer['error'] === 'object' ? toObject(outer['error']) : outer;
  const words = firstText(inner['message'], outer['error'], inner['detail']);
  const status = [inner['code'], inner['status_code'], inner['status']].find((value) => typeof value === 'number' && value >= 400);
  return words === undefined
    ? undefined
    : { words: quote(words, 600), code: firstText(inner['code'], inner['type']), status: status as number | undefined };
}

function toObject(value: unknown): Record<string, unknown> {
  return Object(value ?? {}) as Record<string, unknown>;
}

function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value) => typeof value === 'string' && value !== '') as string | undefined;
}

/** Milliseconds; the header holds seconds or a date. */
function retryAfter(header: string | null): number | undefined {
  if (!header) return undefined;
  const wait = Number(header) * 1000;
  const until = Date.parse(header) - Date.now();
  return [wait, Math.max(0, until)].find((value) => value >= 0);
}

/** One line, cut. */
export function quote(text: string, length = 200): string {
  const line = text
    .slice(0, 2 * length)
    .trim()
    .replace(/\s+/g, ' ');
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
