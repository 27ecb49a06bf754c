import type { AgentErrorCode } from './agent-error.ts';

/** What a failure of a model's server means. */
export interface ModelFailure {
  readonly code: AgentErrorCode;
  /** Whether the same request may succeed a little later. */
  readonly transient: boolean;
}

type Row = readonly [code: AgentErrorCode, transient: boolean, ...words: readonly RegExp[]];

/**
 * Words that say more than the status. The first match counts. The texts of the servers and their
 * sources are in `test/provider-errors/provider-errors.ts`.
 */
const knownFailures: readonly Row[] = [
  // Only a payment, a new month or a smaller request helps.
  [
    'MODEL_RATE_LIMITED',
    false,
    /insufficient[\w ]{0,20}(quota|balance|credit)|credit balance|more credits|current_quota/i,
    /usage.limit.{0,12}reached|reached.{0,40}usage.limit|余额不足|使用上限/i,
    /request too large for .{0,200}per min/i,
  ],
  // Precedes the next row, because Bedrock says "Too many tokens, please wait".
  [
    'MODEL_RATE_LIMITED',
    true,
    /rate.?limit|too many requests|too many[^.:;]{0,30}wait|throttl|resource.?(has been )?exhausted/i,
    /limit_requests|per minute limit|速率限制|访问量过大/i,
  ],
  // Sentences about one field, such as `tool_calls[0].id: string too long`, have a colon or period.
  [
    'MODEL_CONTEXT_LENGTH',
    false,
    /\b(input|prompt|tokens?)\b(?! (image|file|audio|video))[^.:;]{0,80}\bexceed/i,
    /exceed[^.:;]{0,40}(context|token.limit)|context.(length|window|size).{0,3}exceed/i,
    /\b(input|prompt|tokens)\b,?( is| tokens| \([^()]{0,40}\) is)? too (long|large)/i,
    /(longer than|greater than|into) the [^.:;]{0,20}context|context length of only|context size is/i,
    /max(imum)?.(context|prompt).length|max_seq_len|n_ctx|model_context_length/i,
    /reduce the length|too many tokens|(characters|tokens|request)_too_l|tokens?_limit_(exc|rea)/i,
    /range of input length|inputs\W{0,2} (tokens \+|must have less)|at least 1, got -/i,
    /(输入|上下文|长度|prompt).{0,12}(超|过长)|超[过出].{0,12}(长度|上下文)/i,
  ],
  [
    'MODEL_AUTH',
    false,
    /invalid.?api.?key|api.?key.(not.valid|invalid)|(authentication|permission)_error/i,
    /access.?denied|model_auth/i,
  ],
];

/** Words about a request that no try helps. llama.cpp answers such requests with 500. */
const uselessTry = /n[o']t support|unsupported|requires --|must alternate/i;

/** Words that count if there is no status. */
const statusWords: readonly Row[] = [
  ['MODEL_REQUEST', false, /invalid.?(request|param|argument)/i],
  ['MODEL_TIMEOUT', true, /time.?out|timed out/i],
  [
    'MODEL_SERVER',
    true,
    /internal.?(server.?)?error|\bsystem_?error|bad.?gateway|(service|model).?unavailable/i,
    /overloaded|serving.?error/i,
  ],
];

/**
 * Returns what the answer of a model's server means, by its words and then by its HTTP status.
 * Returns `undefined` if there is no status and the words are unknown. Reads the first 2000
 * characters, because a server may quote the whole request.
 */
export function modelFailure(words: string, status?: number): ModelFailure | undefined {
  if (status === 401) return byStatus(status);
  const text = words.slice(0, maxWordsLength).split(otherWords, 1)[0]!;
  const known = find(knownFailures, text);
  if (known) return known;
  if ((status === undefined || status >= 500) && uselessTry.test(text))
    return { code: 'MODEL_REQUEST', transient: false };
  return status === undefined ? find(statusWords, text) : byStatus(status);
}

const maxWordsLength = 2000;

/**
 * Start of words that are not about the failure: the page of a gateway, or what the user sent, which
 * FastAPI repeats.
 */
const otherWords = /<!doctype|<html|["']input["']:/i;

function find(rows: readonly Row[], words: string): ModelFailure | undefined {
  for (const [code, transient, ...patterns] of rows)
    if (patterns.some((pattern) => pattern.test(words))) return { code, transient };
  return undefined;
}

function byStatus(status: number): ModelFailure {
  if (status === 429) return { code: 'MODEL_RATE_LIMITED', transient: true };
  if (status === 408) return { code: 'MODEL_TIMEOUT', transient: true };
  // The body is too large. Anthropic and gateways count bytes, GitHub Models counts tokens.
  if (status === 413) return { code: 'MODEL_CONTEXT_LENGTH', transient: false };
  if (status >= 500) return { code: 'MODEL_SERVER', transient: true };
  const isRefused = status === 401 || status === 402 || status === 403;
  return { code: isRefused ? 'MODEL_AUTH' : 'MODEL_REQUEST', transient: false };
}

/**
 * Returns the words of a body: its JSON on one line, without escaped letters, or its text. `body` is
 * a text or a parsed JSON value.
 */
export function wordsOfBody(body: unknown): string {
  try {
    const value: unknown = typeof body === 'string' ? JSON.parse(body) : body;
    return JSON.stringify(value) ?? '';
  } catch {
    // Not JSON, or an object with a cycle.
    return typeof body === 'string' ? body : '';
  }
}
