import { expect, test } from 'vitest';
import { fakeClock } from '@test/clock/fake-clock.ts';
import { retryAfterOf } from './retry-after.ts';

const now = Date.UTC(2026, 0, 1);

test.each<[header: string, ms: number | undefined]>([
  ['1.5', 1500],
  ['0', 0],
  ['86400', 86_400_000],
  ['6m0s', 360_000],
  ['120ms', 120],
  ['1h2m3s', 3_723_000],
  ['2m59.56s', 179_560],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
  ['2026-01-01T00:00:20Z', 20_000],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  [String(now / 1000 + 30), 30_000],
  [String(now + 1234), 1234],
  ['soon', undefined],
  ['-5', undefined],
  ['', undefined],
  ['5 apples', undefined],
  ['1e999', undefined],
])('the wait of the header retry-after: %s is %s ms', (header, ms) => {
  fakeClock({ now });
  expect(retryAfterOf(new Headers({ 'retry-after': header }), '', false)).toBe(ms);
});

test('retry-after-ms is in milliseconds, and precedes retry-after', () => {
  const wait = (ms: string, seconds: string) =>
    retryAfterOf(new Headers({ 'retry-after-ms': ms, 'retry-after': seconds }), '', false);
  expect(wait('1250', '2')).toBe(1250);
  expect(wait('0', '2')).toBe(0);
  for (const invalid of ['soon', '-5', '']) expect(wait(invalid, '2')).toBe(2000);
});

// Sources: https://github.com/googleapis/python-genai/pull/2114 (Google),
// https://github.com/openinterpreter/openinterpreter/issues/408 (Groq),
// https://github.com/Azure-Samples/azure-search-openai-demo/issues/177 (Azure).
test.each<[words: string, ms: number | undefined]>([
  ['{"details":[{"@type":"x.RetryInfo","retryDelay":"39s"}]}', 39_000],
  ['{"details":[{"retryDelay":"0.5s"}]}', 500],
  [String.raw`{"raw":"{\"retryDelay\": \"58s\"}"}`, 58_000],
  ['{"retry_after":30}', 30_000],
  ['{"retry_after":1.5}', 1500],
  ['{"retry_after_seconds":12}', 12_000],
  ['Try again in about 5 seconds.', 5000],
  ['Please try again in 6.5s. Visit the console.', 6500],
  ['Please try again in 1m30s.', 90_000],
  ['Please try again in 20ms.', 20],
  ['Please try again in 7m12s. Limit 3', 432_000],
  ['Please retry in 58.934310785s.', 58_934],
  ['Please retry after 9 seconds. Please go here', 9000],
  ['Try again in 30 seconds.', 30_000],
  ['please try again after 1 seconds', 1000],
  ['Please wait 2 minutes', 120_000],
  ['Wait before trying again. Try again later, retry after 5 seconds.', 5000],
  ['Too many tokens, please wait before trying again.', undefined],
  ['You may retry 3 more times.', undefined],
  ['Limit 6000, Used 3513, Requested 3166.', undefined],
  ['', undefined],
])('the words %j say to wait %s ms', (words, ms) => {
  expect(retryAfterOf(undefined, words, false)).toBe(ms);
});

const limits = {
  'x-ratelimit-remaining-requests': '9',
  'x-ratelimit-reset-requests': '1s',
  'x-ratelimit-remaining-tokens': '0',
  'x-ratelimit-reset-tokens': '6m0s',
};

test('the reset of a limit counts if the limit is used up, and only for an error about a limit', () => {
  fakeClock({ now });
  expect(retryAfterOf(new Headers(limits), '', true)).toBe(360_000);
  expect(retryAfterOf(new Headers(limits), '', false)).toBeUndefined();
  expect(
    retryAfterOf(new Headers({ ...limits, 'x-ratelimit-remaining-tokens': '-1' }), '', true),
  ).toBe(undefined);
  expect(retryAfterOf(new Headers({ ...limits, 'retry-after': '7' }), '', true)).toBe(7000);
  // Both limits must be free again.
  expect(
    retryAfterOf(new Headers({ ...limits, 'x-ratelimit-remaining-requests': '0' }), '', true),
  ).toBe(360_000);
});

// https://github.com/ietf-wg-httpapi/ratelimit-headers/issues/39
test('the reset of a limit counts if no header says what remains', () => {
  const wait = (headers: Record<string, string>, isLimited = true) =>
    retryAfterOf(new Headers(headers), '', isLimited);
  expect(wait({ 'x-ratelimit-reset': '30' })).toBe(30_000);
  expect(wait({ 'x-ratelimit-reset-tokens': '6m0s' })).toBe(360_000);
  expect(wait({ 'x-ratelimit-reset': '30' }, false)).toBeUndefined();
  const otherLimit = { 'x-ratelimit-remaining-requests': '9' };
  expect(wait({ ...otherLimit, 'x-ratelimit-reset-tokens': '6m0s' })).toBeUndefined();
});

test.each<[server: string, headers: Record<string, string>, ms: number | undefined]>([
  [
    'Anthropic',
    {
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': '2026-01-01T00:00:07Z',
      'anthropic-ratelimit-requests-remaining': '3',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:09:00Z',
    },
    7000,
  ],
  [
    'GitHub, in seconds',
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 + 60) },
    60_000,
  ],
  [
    'OpenRouter, in milliseconds',
    { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(now + 42_000) },
    42_000,
  ],
  ['Mistral', { 'ratelimitbysize-remaining': '0', 'ratelimitbysize-reset': '21' }, 21_000],
  [
    'a limit that has been reset',
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 - 60) },
    undefined,
  ],
])('the reset of %s is read', (_server, headers, ms) => {
  fakeClock({ now });
  expect(retryAfterOf(new Headers(headers), '', true)).toBe(ms);
  // OpenRouter and gateways put headers into the body.
  expect(retryAfterOf(undefined, JSON.stringify({ metadata: { headers } }), true)).toBe(ms);
});
