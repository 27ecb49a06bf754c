import { AgentError, errorText, fieldsOf, type AgentErrorCode } from './agent-error.ts';

/** What `classifyError()` says about an error: its code, and whether another try may help. */
export interface ErrorClass {
  /** `ABORTED` means a cancellation, `INTERNAL` an unknown failure. */
  readonly code: AgentErrorCode;
  /** Whether the same request may succeed a little later. */
  readonly transient: boolean;
  /** Wait that the server asked for, in milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * Classifies any thrown value. Checks the first ten errors of the cause chain. An `AgentError` has
 * its own code. For any other error, the HTTP status decides, then the name or code of a platform
 * error. If no error of the chain has one of these, the words of the messages decide (Arc Reactor:
 * transient errors).
 */
export function classifyError(error: unknown): ErrorClass {
  const chain = causesOf(error);
  for (const link of chain) {
    const errorClass = byFields(link);
    if (errorClass) return errorClass;
  }
  return byMessage(chain.map(wordsOf).join('\n'));
}

/** Returns the message of an error, or of a thrown object with a message. */
function wordsOf(link: unknown): string {
  const { message } = fieldsOf(link);
  const words = typeof message === 'string' && message ? message : errorText(link);
  return words.slice(0, maxMessageLength);
}

const maxChainLength = 10;

/**
 * Maximum number of characters of a message to search. The message of a server may quote a whole
 * request.
 */
const maxMessageLength = 2_000;

const contextLengthPattern =
  /context.?(length|window|size)|maximum context|(prompt|input) is too long/i;

/** Error names and codes of providers and platforms: DOMException, Node's system errors, undici. */
const namePatterns: readonly (readonly [
  pattern: RegExp,
  code: AgentErrorCode,
  transient: boolean,
])[] = [
  [/^context_length_exceeded$/, 'MODEL_CONTEXT_LENGTH', false],
  [/^(AbortError|UND_ERR_ABORTED)$/, 'ABORTED', false],
  [/^(TimeoutError|ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/, 'MODEL_TIMEOUT', true],
  [
    /^(NetworkError|ECONN\w+|EPIPE|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|ENET\w+|UND_ERR_SOCKET)$/,
    'MODEL_UNREACHABLE',
    true,
  ],
];

const messagePatterns: typeof namePatterns = [
  [
    /rate.?limit|too many requests|resource.?(has been )?exhausted|(status|http|error|code)[^a-z0-9]*429(?!\d)|(^|: *)429(\s|\.|$)/im,
    'MODEL_RATE_LIMITED',
    true,
  ],
  [/time.?out|timed out/i, 'MODEL_TIMEOUT', true],
  [contextLengthPattern, 'MODEL_CONTEXT_LENGTH', false],
  [
    /internal server error|service unavailable|bad gateway|overloaded|(status|http|error|code)[^a-z0-9]*50[0234](?!\d)|(^|: *)5\d\d(\s|\.|$)/im,
    'MODEL_SERVER',
    true,
  ],
  // Messages of `fetch` in undici, Chromium, WebKit, Firefox and workerd. Node's error codes are
  // here, because some errors have them only in their text.
  [
    /connection (refused|reset|error|closed)|socket hang up|\b(ECONN(RESET|REFUSED|ABORTED)|EPIPE|EAI_AGAIN|ENOTFOUND)\b|^(TypeError: )?(fetch failed|failed to fetch$|load failed|terminated$|(the )?network ?(error|connection))/im,
    'MODEL_UNREACHABLE',
    true,
  ],
];

function causesOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (
    let link = error;
    link !== undefined && link !== null && chain.length < maxChainLength;
    link = fieldsOf(link)['cause']
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
  const match = namePatterns.find(([pattern]) =>
    [name, code].some((word) => typeof word === 'string' && pattern.test(word)),
  );
  if (status === undefined) return match && { code: match[1], transient: match[2] };
  const statusClass = byStatus(status);
  const isTooLong =
    statusClass.code === 'MODEL_REQUEST' &&
    (match?.[1] === 'MODEL_CONTEXT_LENGTH' || contextLengthPattern.test(wordsOf(link)));
  return isTooLong ? { ...statusClass, code: 'MODEL_CONTEXT_LENGTH' } : statusClass;
}

/** Returns the HTTP status of a failed request, where the SDKs of the providers put it. */
function statusOf(link: unknown): number | undefined {
  const { status, statusCode, code, response, $metadata } = fieldsOf(link);
  return [
    status,
    statusCode,
    code,
    fieldsOf(response)['status'],
    fieldsOf($metadata)['httpStatusCode'],
  ]
    .map((value) => (typeof value === 'string' ? Number(value) : value))
    .find((value): value is number => typeof value === 'number' && value >= 400 && value < 600);
}

function byStatus(status: number): ErrorClass {
  if (status === 429) return { code: 'MODEL_RATE_LIMITED', transient: true };
  if (status === 408) return { code: 'MODEL_TIMEOUT', transient: true };
  if (status >= 500) return { code: 'MODEL_SERVER', transient: true };
  const code = status === 401 || status === 403 ? 'MODEL_AUTH' : 'MODEL_REQUEST';
  return { code, transient: false };
}

function byMessage(words: string): ErrorClass {
  const match = messagePatterns.find(([pattern]) => pattern.test(words));
  return match ? { code: match[1], transient: match[2] } : { code: 'INTERNAL', transient: false };
}
