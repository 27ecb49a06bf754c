import { expect, test } from 'vitest';
import { AgentError } from './agent-error.ts';
import { classifyError } from './classify-error.ts';

const withCause = (message: string, cause: unknown): Error => new Error(message, { cause });
const withFields = (fields: object): Error => Object.assign(new Error('x'), fields);

test.each<[string, unknown, string, boolean]>([
  [
    'a retryable AgentError',
    new AgentError('MODEL_SERVER', 'x', { retryable: true }),
    'MODEL_SERVER',
    true,
  ],
  [
    'an AgentError that is not retryable',
    new AgentError('MODEL_RATE_LIMITED', 'no quota'),
    'MODEL_RATE_LIMITED',
    false,
  ],
  [
    'the JSON form of an AgentError',
    new AgentError('MODEL_TIMEOUT', 'x', { retryable: true }).toJSON(),
    'MODEL_TIMEOUT',
    true,
  ],
  [
    'an AgentError that wraps another error',
    AgentError.from(withFields({ status: 503 })),
    'MODEL_SERVER',
    true,
  ],
  [
    'an error that wraps an AgentError',
    withCause('x', new AgentError('MODEL_AUTH', 'HTTP 500')),
    'MODEL_AUTH',
    false,
  ],
  ['a status', withFields({ status: 429 }), 'MODEL_RATE_LIMITED', true],
  ['a status in `statusCode`', withFields({ statusCode: 408 }), 'MODEL_TIMEOUT', true],
  ['the status of a response', withFields({ response: { status: 529 } }), 'MODEL_SERVER', true],
  ['a status as text', withFields({ status: '429' }), 'MODEL_RATE_LIMITED', true],
  [
    "Google's form",
    withFields({ code: 429, status: 'RESOURCE_EXHAUSTED' }),
    'MODEL_RATE_LIMITED',
    true,
  ],
  ["Amazon's form", withFields({ $metadata: { httpStatusCode: 503 } }), 'MODEL_SERVER', true],
  ['a code as text', withFields({ code: '401' }), 'MODEL_AUTH', false],
  [
    'a code beside a number that is not a status',
    withFields({ status: 1, code: 'ECONNRESET' }),
    'MODEL_UNREACHABLE',
    true,
  ],
  [
    'fields that are neither texts nor numbers',
    withFields({ status: Symbol('429'), code: Object.create(null), response: null }),
    'INTERNAL',
    false,
  ],
  ['a refused key', withFields({ status: 403 }), 'MODEL_AUTH', false],
  ['a refused request', withFields({ status: 400, message: 'timeout' }), 'MODEL_REQUEST', false],
  [
    'a request that is too long',
    withFields({ status: 400, message: 'The prompt is too long' }),
    'MODEL_CONTEXT_LENGTH',
    false,
  ],
  [
    'its code, and no other words',
    withFields({ status: 400, code: 'context_length_exceeded' }),
    'MODEL_CONTEXT_LENGTH',
    false,
  ],
  [
    'a server that failed on the context',
    withFields({ status: 500, message: 'context length unknown' }),
    'MODEL_SERVER',
    true,
  ],
  ['a thrown object', { message: 'HTTP 503' }, 'MODEL_SERVER', true],
  ['an abort', new DOMException('timed out', 'AbortError'), 'ABORTED', false],
  ['the signal of a time-out', new DOMException('x', 'TimeoutError'), 'MODEL_TIMEOUT', true],
  ['a broken network', new DOMException('x', 'NetworkError'), 'MODEL_UNREACHABLE', true],
  [
    'Node below fetch',
    withCause('x', withFields({ code: 'ECONNREFUSED' })),
    'MODEL_UNREACHABLE',
    true,
  ],
  ['undici', withFields({ code: 'UND_ERR_HEADERS_TIMEOUT' }), 'MODEL_TIMEOUT', true],
  [
    'a defect',
    new TypeError("Cannot read properties of undefined (reading 'fetch')"),
    'INTERNAL',
    false,
  ],
  ['nothing', undefined, 'INTERNAL', false],
  ['null', null, 'INTERNAL', false],
])('classifyError() recognizes %s', (_what, error, code, transient) => {
  expect(classifyError(error)).toEqual({ code, transient });
});

test.each<[string, string, boolean]>([
  ['Rate limit reached', 'MODEL_RATE_LIMITED', true],
  ['RESOURCE_EXHAUSTED', 'MODEL_RATE_LIMITED', true],
  ['request failed with status code: 429', 'MODEL_RATE_LIMITED', true],
  ['The server said: 429.', 'MODEL_RATE_LIMITED', true],
  ['read ECONNRESET', 'MODEL_UNREACHABLE', true],
  ['connect ECONNREFUSED 127.0.0.1:80', 'MODEL_UNREACHABLE', true],
  ['TypeError: Failed to fetch', 'MODEL_UNREACHABLE', true],
  ['The request timed out', 'MODEL_TIMEOUT', true],
  ['maximum context length is 8192 tokens', 'MODEL_CONTEXT_LENGTH', false],
  ['HTTP 503', 'MODEL_SERVER', true],
  ['Upstream: 502 Bad Gateway', 'MODEL_SERVER', true],
  ['Overloaded', 'MODEL_SERVER', true],
  ['fetch failed', 'MODEL_UNREACHABLE', true],
  ['Failed to fetch', 'MODEL_UNREACHABLE', true],
  ['Load failed', 'MODEL_UNREACHABLE', true],
  ['NetworkError when attempting to fetch resource.', 'MODEL_UNREACHABLE', true],
  ['Network connection lost.', 'MODEL_UNREACHABLE', true],
  ['connection reset by peer', 'MODEL_UNREACHABLE', true],
  ['The tool gave 500 rows', 'INTERNAL', false],
  ['Order 429 is unknown', 'INTERNAL', false],
  ['error 4290: no such row', 'INTERNAL', false],
  ['code 5001', 'INTERNAL', false],
  ['', 'INTERNAL', false],
])('classifies by the message: %s', (message, code, transient) => {
  expect(classifyError(new Error(message))).toEqual({ code, transient });
  expect(classifyError(withCause('It failed', new Error(message)))).toEqual({ code, transient });
});

test('classifyError() returns the retry time that the server sent', () => {
  const error = new AgentError('MODEL_RATE_LIMITED', 'x', {
    retryable: true,
    details: { retryAfterMs: 1500 },
  });
  expect(classifyError(withCause('x', error))).toEqual({
    code: 'MODEL_RATE_LIMITED',
    transient: true,
    retryAfterMs: 1500,
  });
});

test.each<[what: string, fields: object]>([
  ['a `Headers`', { headers: new Headers({ 'Retry-After': '3' }) }],
  ['an object', { headers: { 'Retry-After': '3' } }],
  ['an object with a number', { headers: { 'retry-after': 3 } }],
  ['a `Map`', { headers: new Map([['retry-after', '3']]) }],
  ['AI SDK', { responseHeaders: { 'retry-after': '3' } }],
  ['a response', { response: { headers: { 'retry-after': '3' } } }],
  ['a response of AWS', { $response: { headers: { 'retry-after': '3' } } }],
  ['the words', { message: 'Try again in 3s.' }],
  ['the body', { error: { error: { details: [{ retryDelay: '3s' }] } } }],
])('classifyError() reads the retry time of another error from %s', (_what, fields) => {
  expect(classifyError(withFields({ status: 429, ...fields }))).toEqual({
    code: 'MODEL_RATE_LIMITED',
    transient: true,
    retryAfterMs: 3000,
  });
});

test('classifyError() ignores headers and bodies that are no text', () => {
  const odd = Object.assign(Object.create(null) as object, { a: Object.create(null), b: Symbol() });
  const cycle: { self?: object } = {};
  cycle.self = cycle;
  for (const value of [null, undefined, 7, 'text', [1, 2], new Map([[1, 2]]), odd, cycle])
    expect(classifyError({ status: 503, headers: value, error: value })).toEqual({
      code: 'MODEL_SERVER',
      transient: true,
    });
});

test('classifyError() follows ten causes and stops at a cycle', () => {
  const nested = (depth: number): unknown =>
    depth ? withCause('x', nested(depth - 1)) : withFields({ status: 500 });
  expect(classifyError(nested(9))).toMatchObject({ transient: true });
  expect(classifyError(nested(10))).toMatchObject({ transient: false });
  const circle = new Error('x');
  circle.cause = circle;
  expect(classifyError(circle)).toMatchObject({ code: 'INTERNAL' });
});

test('classifyError() is fast for a very long message', () => {
  for (const part of ['\n', 'error ', 'code!', ': '])
    expect(classifyError(part.repeat(500_000))).toMatchObject({ code: 'INTERNAL' });
});
