import { textSum } from '../../message/text-sum.ts';

/**
 * Returns a value with a checksum. With it, the value is not JSON either, so that no driver parses
 * it.
 */
export function frame(value: string): string {
  return `${textSum(value).toString(36)} ${value}`;
}

/** Returns the value; `undefined` if it is not whole, because its process died while writing. */
export function unframe(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const value = text.slice(text.indexOf(' ') + 1);
  return text === frame(value) ? value : undefined;
}
