/**
 * Returns how long a server asks to wait, in milliseconds. Reads its headers, then the words of its
 * body. `isLimited`: whether a rate limit was reached. Only then does the reset of a limit count,
 * and only of a limit with 0 remaining, unless no header says what remains.
 */
export function retryAfterOf(
  headers: Headers | undefined,
  words: string,
  isLimited: boolean,
): number | undefined {
  const text = words.slice(0, maxTextLength);
  const waits = [
    toMs(headers?.get('retry-after-ms'), 1),
    toMs(headers?.get('retry-after')),
    toMs(delayField.exec(text)?.[1]),
    toMs(delaySentence.exec(text)?.[1]),
    isLimited ? resetOf(headers, text) : undefined,
  ];
  return waits.find((ms) => ms !== undefined);
}

/** The details of Google's errors, after a long explanation, are within this length. */
const maxTextLength = 10_000;

/** As in `"retryDelay":"39s"` (Google), `"retry_after":30` or `"retry_after_seconds":30`. */
const delayField = /"retry_?(?:delay|after)(?:_seconds)?\\*": ?\\*"?([\da-z.]+)/i;

/** As in "try again in 1m30.002s" (Groq) or "retry after 9 seconds" (Azure). */
const delaySentence =
  /\b(?:retry|again|wait)(?: in| after)?(?: about)? (\d[\d.]* ?[a-z]+[\d.a-z]*)/i;

/** Headers that OpenRouter puts into the body, as in `"X-RateLimit-Reset":"1741305600000"`. */
const limitField = /"([\w-]*ratelimit[\w-]*)\\*": ?\\*"?([^"\\,}]+)/gi;

/** Returns the longest wait for a limit that is used up, if any. */
function resetOf(headers: Headers | undefined, text: string): number | undefined {
  const fields = new Map(headers);
  for (const [, name, value] of text.matchAll(limitField)) fields.set(name!.toLowerCase(), value!);
  const saysRest = [...fields.keys()].some((name) => name.includes('remaining'));
  let longestMs = 0;
  for (const [name, value] of fields) {
    if (!/ratelimit.*reset/.test(name)) continue;
    const rest = fields.get(name.replace('reset', 'remaining'));
    const isUsedUp = rest === undefined ? !saysRest : rest !== '' && Number(rest) === 0;
    if (isUsedUp) longestMs = Math.max(longestMs, toMs(value) ?? 0);
  }
  return longestMs > 0 ? longestMs : undefined;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A part of `1h6m0.5s` or of `2 minutes`. */
const durationPart = /([\d.]+) ?(ms|[smh])(?=\d|\b|ec|in|ou)/g;

/**
 * Returns the milliseconds of a number of `unit`, a duration, a date, or a time since 1970 in
 * seconds or milliseconds. A time in the past is 0.
 */
function toMs(value?: string | null, unit = 1000): number | undefined {
  if (!value) return undefined;
  const count = Number(value);
  const ms = Number.isNaN(count) ? msOfText(value) : msOfNumber(count, unit);
  return count < 0 || !Number.isFinite(ms) ? undefined : Math.max(0, Math.round(ms));
}

/** Returns the milliseconds of a number of `unit`, or until a time since 1970. */
function msOfNumber(count: number, unit: number): number {
  if (count > 1e11) return count - Date.now();
  if (count > 1e9) return count * 1000 - Date.now();
  return count * unit;
}

/** Returns the milliseconds of a duration, or until a date. Returns `NaN` for other texts. */
function msOfText(text: string): number {
  // V8 reads almost any text as a date, for example "-5".
  if (text.includes(':')) return Date.parse(text) - Date.now();
  const parts = [...text.matchAll(durationPart)];
  if (!parts.length) return NaN;
  return parts.reduce((sum, [, count, name]) => sum + Number(count) * unitMs[name!]!, 0);
}
