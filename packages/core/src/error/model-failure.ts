import type { AgentErrorCode } from './agent-error.ts';

/** What a failure of a model's server means. */
export interface ModelFailure {
  readonly code: AgentErrorCode;
  /** Whether the same request may succeed a little later. */
  readonly transient: boolean;
}

/** Returns the first value that is the HTTP status of an error, as a number or as text. */
export function errorStatusIn(values: readonly unknown[]): number | undefined {
  return values
    .map((value) => (typeof value === 'string' ? Number(value) : value))
    .find((value): value is number => typeof value === 'number' && value >= 400 && value < 600);
}

/** A text and what it means. Default of `transient`: false. */
export type FailurePattern = readonly [pattern: RegExp, code: AgentErrorCode, transient?: boolean];

/**
 * What patterns mean in a text that has the status, if any, a blank, and then the words. The first
 * match counts. The texts of the servers and their sources are in
 * `test/provider-errors/provider-errors.ts`.
 */
const knownFailures: readonly FailurePattern[] = [
  [/^401/, 'MODEL_AUTH'],
  // Only a payment, a new month or a smaller request helps.
  [
    /insufficient.(quota|balance)|exceeded.current.quota|limit: 0[^.\d]|credit balance|more credits|reached.{0,40}usage limit|too large for .{0,200}per min|余额不足|使用上限/i,
    'MODEL_RATE_LIMITED',
  ],
  [/^429/, 'MODEL_RATE_LIMITED', true],
  // Precedes the next rows, because Bedrock says "Too many tokens, please wait".
  [
    /(^|[^a-z])rate.?limit|ratelimit|too many (requests|.{0,30}wait)|throttl|resource.{0,10}exhausted|limit_requests|per minute limit/i,
    'MODEL_RATE_LIMITED',
    true,
  ],
  // A filter refused what the user or the model wrote. OpenRouter says so with 403.
  [/was flagged|data_?inspection|_sensitive|content_(filter|policy)/i, 'MODEL_REQUEST'],
  // Sentences about one field, such as `tool_calls[0].id: string too long`, have a colon or period.
  [
    /\b(input|prompt|tokens?|context.(length|window|size))\b(?! (image|file|per)\b)[^.:;]{0,80}( too l|\bexceed|er than the)|exceed[^.:;]{0,40}(context|token.limit)/i,
    'MODEL_CONTEXT_LENGTH',
  ],
  [
    /(context|prompt).(length|size).{0,20}\d|context_length[_"]|[st]_too_l|too many tokens|n_ctx|reduce the length|of input length|(inputs|prompt_tokens)\W.{0,30}must|at least 1, got -/i,
    'MODEL_CONTEXT_LENGTH',
  ],
  [
    /invalid.?api.?key|key.(not.|in)valid|(authentication|permission)_error|access.?denied|model_auth/i,
    'MODEL_AUTH',
  ],
  // These requests fail at every try. llama.cpp answers them with 500, and LM Studio with 200. An
  // invalid request counts only without a status, because a status says more.
  [
    /^(5\d\d)? [^]*(n[o']t support|unsupported|requires --|unexpected endpoint)|^ [^]*invalid.?(request|param|argument)/i,
    'MODEL_REQUEST',
  ],
  [/^408/, 'MODEL_TIMEOUT', true],
  // OpenAI reports a conflict, TGI a failed generation, Groq that it has no capacity, and Gemini
  // that it canceled the request itself.
  [/^([5-9]|409|424|49[89])/, 'MODEL_SERVER', true],
  // Anthropic and gateways count the bytes of the request, GitHub Models counts its tokens.
  [/^413/, 'MODEL_CONTEXT_LENGTH'],
  [/^40[23]/, 'MODEL_AUTH'],
  [/^\d/, 'MODEL_REQUEST'],
];

/**
 * Start of words that are not about the failure: the page of a gateway, or what the user sent,
 * which FastAPI repeats.
 */
const otherWords = /<html|\Winput\W:/i;

/**
 * Returns what the answer of a model's server means, by its words and then by its HTTP status.
 * Returns `undefined` if there is no status and the words are unknown. Reads the first 2000
 * characters, because a server may quote the whole request.
 */
export function modelFailure(words: string, status?: number): ModelFailure | undefined {
  const text = words.slice(0, 2000).split(otherWords, 1)[0]!;
  return matchFailure(knownFailures, `${status ?? ''} ${text}`);
}

/** Words that count if nothing else says more. */
const serverWords: readonly FailurePattern[] = [
  [/time.?out|timed out/i, 'MODEL_TIMEOUT', true],
  [
    /internal.?(server.?)?error|\bsystem_?error|bad.?gateway|(service|model).?unavailable|overloaded|serving.?error/i,
    'MODEL_SERVER',
    true,
  ],
];

/** Like `modelFailure`, for a failure without a status that may be no failure of a server. */
export function failureInWords(words: string): ModelFailure | undefined {
  return modelFailure(words) ?? matchFailure(serverWords, words);
}

/** Returns what the first matching pattern means. */
export function matchFailure(
  rows: readonly FailurePattern[],
  text: string,
): ModelFailure | undefined {
  const row = rows.find(([pattern]) => pattern.test(text));
  return row && { code: row[1], transient: row[2] ?? false };
}
