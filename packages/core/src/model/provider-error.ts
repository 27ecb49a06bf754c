import { AgentError, type AgentErrorCode, type AgentErrorOptions } from '../error/agent-error.ts';
import type { JsonObject } from '../message/json.ts';

const contextLength =
  /context.?(length|window|size)|(prompt|input)( is)? too (long|large)|(prompt|input) length|input token count|reduce the length|too many (input )?tokens/i;

/** The error behind an HTTP status that is no success. */
export function errorOfResponse(status: number, headers: Headers, body: string): AgentError {
  const fields = errorFields(parseJson(body));
  const retryAfterMs = retryAfter(headers);
  return providerError(status, fields ?? {}, fields?.message ?? quote(body), retryAfterMs === undefined ? {} : { retryAfterMs });
}

/** The error that a chunk reports, if it does: `{ error: … }`, or whatever an `error` event carries. */
export function errorOfChunk(chunk: unknown, isErrorEvent = false): AgentError | undefined {
  if (typeof chunk !== 'object' || chunk === null) return undefined;
  const isError = isErrorEvent || ('error' in chunk && chunk.error != null) || ('object' in chunk && chunk.object === 'error');
  if (!isError) return undefined;
  const fields = errorFields(chunk) ?? {};
  return providerError(fields.status ?? 500, fields, fields.message ?? quote(JSON.stringify(chunk)), {}, true);
}

/** A reply that is not the protocol; `retryable` where it only broke off. */
export function badResponse(problem: string, text: string, retryable = false): AgentError {
  return new AgentError('MODEL_BAD_RESPONSE', `${problem}: ${quote(text) || '(nothing)'}`, { retryable });
}

function quote(text: string, length = 200): string {
  const line = text
    .slice(0, 2 * length)
    .trim()
    .replace(/\s+/g, ' ');
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

interface ErrorFields {
  readonly message?: string;
  /** The provider's own word: `insufficient_quota`. */
  readonly code?: string;
  /** An HTTP status the error names itself. */
  readonly status?: number;
}

function providerError(status: number, { code }: ErrorFields, words: string, more: JsonObject, inStream = false): AgentError {
  const kind = classify(status, code, words, inStream);
  const message = `${titles[kind]}${inStream ? '' : ` (HTTP ${status})`}: ${words || 'no explanation'}`;
  const options: AgentErrorOptions = {
    retryable: (status >= 500 || status === 429 || status === 408 || kind === 'MODEL_RATE_LIMITED') && code !== 'insufficient_quota',
    details: { ...(inStream ? {} : { status }), ...(code === undefined ? {} : { providerCode: code }), ...more },
  };
  return new AgentError(kind, message, options);
}

const titles = {
  MODEL_AUTH: 'The model server refused the key',
  MODEL_RATE_LIMITED: 'The model server limits the rate of requests',
  MODEL_CONTEXT_LENGTH: 'The request is longer than the model can take',
  MODEL_TIMEOUT: 'The model server timed out',
  MODEL_REQUEST: 'The model server refused the request',
  MODEL_SERVER: 'The model server failed',
} as const satisfies Partial<Record<AgentErrorCode, string>>;

function classify(status: number, code: string | undefined, words: string, inStream: boolean): keyof typeof titles {
  if (status === 401 || status === 403) return 'MODEL_AUTH';
  if (status === 429 || /rate_?limit/i.test(code ?? '')) return 'MODEL_RATE_LIMITED';
  if (contextLength.test(`${code} ${words}`) && (status < 500 || inStream)) return 'MODEL_CONTEXT_LENGTH';
  if (status === 408) return 'MODEL_TIMEOUT';
  return status >= 500 || inStream ? 'MODEL_SERVER' : 'MODEL_REQUEST';
}

/** `{ error: { message, code, type } }`, `{ error: 'text' }`, `{ message }`, `{ detail }`, or an array of one of them (Gemini). */
function errorFields(body: unknown): ErrorFields | undefined {
  if (Array.isArray(body)) return errorFields(body[0]);
  if (typeof body !== 'object' || body === null) return undefined;
  const outer = body as Record<string, unknown>;
  const inner = (typeof outer['error'] === 'object' && outer['error'] !== null ? outer['error'] : outer) as Record<string, unknown>;
  const message = [inner['message'], outer['error'], inner['detail'], inner['msg']].find(
    (value) => typeof value === 'string' && value !== '',
  );
  const code = [inner['code'], inner['type']].find((value) => typeof value === 'string' && value !== '');
  const status = [inner['code'], inner['status_code'], inner['status'], outer['status_code']].find(isErrorStatus);
  return {
    ...(message === undefined ? {} : { message: quote(String(message), 600) }),
    ...(code === undefined ? {} : { code: String(code) }),
    ...(status === undefined ? {} : { status }),
  };
}

function isErrorStatus(value: unknown): value is number {
  return typeof value === 'number' && value >= 400 && value < 600;
}

/** Milliseconds; from OpenAI's own header, or from seconds or a date in the standard one. */
function retryAfter(headers: Headers): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (ms >= 0) return ms;
  const value = headers.get('retry-after');
  if (!value) return undefined;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** `undefined` where the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
