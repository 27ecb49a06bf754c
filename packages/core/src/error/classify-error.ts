import { AgentError, messageOf, type AgentErrorCode } from './agent-error.ts';

export interface ErrorClass {
  /** `ABORTED` is a cancellation; `INTERNAL` is what nothing is known of. */
  readonly code: AgentErrorCode;
  /** Whether the same request may succeed a little later. */
  readonly transient: boolean;
  /** What the server asked to wait. */
  readonly retryAfterMs?: number;
}

/**
 * What anything that was thrown stands for. An `AgentError` says it itself; else an HTTP status,
 * the name or code of a platform's error, anywhere in the first ten of the chain of causes, and at
 * last the words of their messages (Arc Reactor: transient errors).
 */
export function classifyError(error: unknown): ErrorClass {
  const chain = causesOf(error);
  for (const link of chain) {
    const found = byType(link);
    if (found) return found;
  }
  return byMessage(chain.map((link) => messageOf(link).slice(0, longestMessage)).join('\n'));
}

const longestChain = 10;

/** A message is searched this far: a server may quote a whole request. */
const longestMessage = 2_000;

/** The platforms' names and codes: DOMException, Node's system errors, undici. */
const names: readonly (readonly [pattern: RegExp, code: AgentErrorCode, transient: boolean])[] = [
  [/^(AbortError|UND_ERR_ABORTED)$/, 'ABORTED', false],
  [/^(TimeoutError|ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/, 'MODEL_TIMEOUT', true],
  [
    /^(NetworkError|ECONN\w+|EPIPE|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|ENET\w+|UND_ERR_SOCKET)$/,
    'MODEL_UNREACHABLE',
    true,
  ],
];

const messages: typeof names = [
  [
    /rate.?limit|too many requests|resource.?(has been )?exhausted|(status|http|error|code)[^a-z0-9]*429|(^|: *)429(\s|\.|$)/im,
    'MODEL_RATE_LIMITED',
    true,
  ],
  [/time.?out|timed out/i, 'MODEL_TIMEOUT', true],
  [
    /context.?(length|window|size)|maximum context|(prompt|input) is too long/i,
    'MODEL_CONTEXT_LENGTH',
    false,
  ],
  [
    /internal server error|service unavailable|bad gateway|overloaded|(status|http|error|code)[^a-z0-9]*50[0234]|(^|: *)5\d\d(\s|\.|$)/im,
    'MODEL_SERVER',
    true,
  ],
  // What `fetch` says in undici, Chromium, WebKit, Firefox and workerd, and Node's codes where only
  // their words are left.
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
    link !== undefined && link !== null && chain.length < longestChain;
    link = fieldsOf(link)['cause']
  )
    chain.push(link);
  return chain;
}

/**
 * What a link tells without its words; nothing where it tells nothing: an `INTERNAL` only wraps
 * something.
 */
function byType(link: unknown): ErrorClass | undefined {
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
  const { name, code, status, statusCode, response } = fieldsOf(link);
  const http = [status, statusCode, fieldsOf(response)['status']].find(
    (value) => typeof value === 'number',
  );
  if (typeof http === 'number' && http >= 400 && http < 600) return ofStatus(http);
  const known = names.find(([pattern]) =>
    [name, code].some((word) => typeof word === 'string' && pattern.test(word)),
  );
  return known && { code: known[1], transient: known[2] };
}

function ofStatus(status: number): ErrorClass {
  if (status === 429) return { code: 'MODEL_RATE_LIMITED', transient: true };
  if (status === 408) return { code: 'MODEL_TIMEOUT', transient: true };
  if (status >= 500) return { code: 'MODEL_SERVER', transient: true };
  return {
    code: status === 401 || status === 403 ? 'MODEL_AUTH' : 'MODEL_REQUEST',
    transient: false,
  };
}

function byMessage(words: string): ErrorClass {
  const known = messages.find(([pattern]) => pattern.test(words));
  return known ? { code: known[1], transient: known[2] } : { code: 'INTERNAL', transient: false };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value) as Record<string, unknown>;
}
