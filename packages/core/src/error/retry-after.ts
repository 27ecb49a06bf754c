/**
 * Returns how long a server asks to wait, in milliseconds. Reads its headers, then the words of its
 * body. `isLimited`: whether a rate limit was reached. Only then does the reset of a limit count, and
 * only of a limit with 0 remaining, unless no header says what remains.
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
  const unknownRest = [...fields.keys()].some((name) => name.includes('remaining')) ? '' : '0';
  const waits = [...fields].map(([name, value]) => {
    const rest = fields.get(name.replace('reset', 'remaining')) ?? unknownRest;
    return (/ratelimit.*reset/.test(name) && Number(rest || NaN) === 0 && toMs(value)) || 0;
  });
  return Math.max(0, ...waits) || undefined;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A part of `1h6m0.5s` or of `2 minutes`. */
const durationPart = /([\d.]+) ?(ms|[smh])(?=\d|\b|ec|in|ou)/g;

/**
 * Returns the milliseconds of a number of `unit`, a duration, a date, or a time since 1970 in seconds
 * or milliseconds. A time in the past is 0.
 */
function toMs(value?: string | null, unit = 1000): number | undefined {
  if (!value) return undefined;
  const count = Number(value);
  let ms = count * unit;
  if (count > 1e9) ms = (count > 1e11 ? count : count * 1000) - Date.now();
  // V8 reads almost any text as a date, for example "-5".
  else if (value.includes(':')) ms = Date.parse(value) - Date.now();
  else
    for (const [, part, name] of value.matchAll(durationPart))
      ms = (ms || 0) + Number(part) * unitMs[name!]!;
  return count < 0 || !Number.isFinite(ms) ? undefined : Math.max(0, Math.round(ms));
}
