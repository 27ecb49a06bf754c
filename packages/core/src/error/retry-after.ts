import { fieldsOf } from './agent-error.ts';

/**
 * Returns how long a server asks to wait, in milliseconds. Reads its headers (a `Headers` or an
 * object), then the words of its body. `isLimited`: whether a rate limit was reached. Only then does
 * the reset of a limit count, and only of a limit with 0 remaining.
 */
export function retryAfterOf(
  headers: unknown,
  words: string,
  isLimited: boolean,
): number | undefined {
  const fields = headersIn(headers);
  const text = words.slice(0, maxTextLength);
  for (const [, name, value] of text.matchAll(limitField)) fields.set(name!.toLowerCase(), value!);
  const [, isMs, delay] = delayField.exec(text) ?? [];
  const waits = [
    toMs(fields.get('retry-after-ms'), 1),
    toMs(fields.get('retry-after')),
    toMs(delay, isMs ? 1 : 1000),
    toMs(delaySentence.exec(text)?.[1]),
    ...(isLimited ? resetsOf(fields) : []),
  ];
  return waits.find((ms) => ms !== undefined);
}

/** The details of Google's errors, after a long explanation, are within this length. */
const maxTextLength = 10_000;

/** Headers that OpenRouter puts into the body, as in `"X-RateLimit-Reset":"1741305600000"`. */
const limitField = /"([\w-]*ratelimit[\w-]*)\\*": ?\\*"?([^"\\,}]+)/gi;

/** As in `"retryDelay":"39s"` (Google), `"retry_after":30` or `"retry_after_ms":500`. */
const delayField = /"retry_?(?:delay|after)(_?ms)?(?:_seconds)?\\*": ?\\*"?(\d[\d.]*[a-z]*)/i;

/** As in "try again in 1m30.002s" (Groq) or "retry after 9 seconds" (Azure). */
const delaySentence =
  /\b(?:retry|again|wait)(?: again)?(?: in| after| for)? ((?:\d+(?:\.\d+)? ?[a-z]+ ?){1,4})/i;

/** Returns the headers by their names in lower case. `headers` may be from any library. */
function headersIn(headers: unknown): Map<string, string> {
  const fields = new Map<string, string>();
  const add = (value: unknown, name: unknown): void => {
    const isText = typeof value === 'string' || typeof value === 'number';
    if (isText && typeof name === 'string') fields.set(name.toLowerCase(), String(value));
  };
  const { forEach } = fieldsOf(headers);
  if (typeof forEach === 'function') forEach.call(headers, add);
  else for (const [name, value] of Object.entries(fieldsOf(headers))) add(value, name);
  return fields;
}

/** Returns the longest wait for a limit that is used up, if any. */
function resetsOf(fields: ReadonlyMap<string, string>): readonly number[] {
  const waits = [...fields].flatMap(([name, value]) => {
    const remaining = fields.get(name.replace('reset', 'remaining'));
    const isUsedUp = /ratelimit.*reset/.test(name) && Number(remaining || NaN) === 0;
    return (isUsedUp && toMs(value)) || [];
  });
  return waits.length ? [Math.max(...waits)] : [];
}

/**
 * Returns the milliseconds of a number of `unit`, a duration such as `6m0s`, a date, or a time since
 * 1970 in seconds or milliseconds. A time in the past is 0.
 */
function toMs(value = '', unit = 1000): number | undefined {
  const count = Number(value || NaN);
  const isTime = unit === 1000 && count > 1e9;
  let ms = count * unit;
  if (isTime) ms = (count > 1e11 ? count : count * 1000) - Date.now();
  else if (/^\d[\d.]* ?[a-z]/i.test(value)) ms = durationMs(value);
  // V8 reads almost any text as a date, for example "-5".
  else if (value.includes(':')) ms = Date.parse(value) - Date.now();
  return count < 0 || !Number.isFinite(ms) ? undefined : Math.max(0, Math.round(ms));
}

const unitMs: Readonly<Record<string, number>> = {
  milli: 1,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const durationPart =
  /(\d+(?:\.\d+)?) ?(ms|milli|[smhd])(?:econds?|ecs?|seconds?|inutes?|ins?|ours?|rs?|ays?)?(?![a-z])/gi;

/** Returns the milliseconds of a duration, or NaN if it has no known unit. */
function durationMs(text: string): number {
  let sum = NaN;
  for (const [, count, unit = ''] of text.matchAll(durationPart))
    sum = (sum || 0) + Number(count) * unitMs[unit.toLowerCase()]!;
  return sum;
}
