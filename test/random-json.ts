import type { JsonValue } from '@isoloop/core';

const texts = [
  '',
  'a b',
  '{"',
  '\\',
  'é\u2028',
  '🙂🙃',
  '東京と京都',
  'null',
  '\n\t"',
  '[1, 2]',
  ':,',
  '__proto__',
];
const numbers = [0, -1, 12.5, 1e-7, 1e21, -2.5e-21, 123456];

/** Returns a random value of at most five levels. */
export function randomJson(random: () => number, depth = 0): JsonValue {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const kind = Math.floor(random() * (depth < 4 ? 6 : 4));
  if (kind === 0) return pick(texts);
  if (kind === 1) return pick(numbers);
  if (kind < 4) return pick([true, false, null, 'text']);
  const items = Array.from({ length: Math.floor(random() * 4) }, () =>
    randomJson(random, depth + 1),
  );
  if (kind === 4) return items;
  return Object.fromEntries(
    items.map((item, index) => [index ? pick(texts) + index : pick(texts), item]),
  );
}

/** Writes all characters outside of ASCII as escapes. */
export function escapedJson(text: string): string {
  return text.replace(/[^\u0020-\u007e]/g, (each) =>
    each === '\n' ? each : `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * Changes what AI SDK does not read: it takes `+` in an exponent as the end of the number, and
 * refuses the key `__proto__`.
 */
export function forAiSdk(json: string): string {
  return json.replaceAll('e+', 'e').replaceAll('"__proto__":', '"proto":');
}
