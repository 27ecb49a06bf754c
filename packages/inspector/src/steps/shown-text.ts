import { maskSecrets } from '@isoloop/core/error';

/** Longer texts are shortened, because a page with megabytes of text hangs. */
const maxTextLength = 100_000;

/** Returns a text as the inspector shows it: without what looks like a key or a password. */
export function shownText(text: string): string {
  const hiddenLength = text.length - maxTextLength;
  if (hiddenLength <= 0) return maskSecrets(text);
  return `${maskSecrets(text.slice(0, maxTextLength))}\n… ${hiddenLength} more characters`;
}

/** Returns a value as indented JSON, or a text as it is. Parses a text that is JSON. */
export function shownJson(value: unknown): string {
  if (typeof value !== 'string') return shownText(JSON.stringify(value, null, 2) ?? '');
  if (!/^\s*[[{]/.test(value)) return shownText(value);
  try {
    return shownText(JSON.stringify(JSON.parse(value), null, 2));
  } catch {
    return shownText(value);
  }
}

/** Returns the beginning of a text in one line. */
export function briefly(text: string, length = 140): string {
  const line = text
    .slice(0, length * 4)
    .replace(/\s+/g, ' ')
    .trim();
  return shownText(line.length > length ? `${line.slice(0, length - 1)}…` : line);
}

/** Returns a whole number with separators, or an empty text for nothing. */
export function count(value: number | undefined): string {
  return value ? value.toLocaleString('en') : '';
}

/** Returns a size in bytes. */
export function size(bytes: number): string {
  if (!bytes) return '';
  return bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`;
}

/** Returns a duration in milliseconds. An empty text if the date was set back meanwhile. */
export function duration(ms: number | undefined): string {
  if (ms === undefined || ms < 0) return '';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(2)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

/** Returns "1 message" or "3 messages". */
export function plural(value: number, noun: string): string {
  return `${value.toLocaleString('en')} ${noun}${value === 1 ? '' : 's'}`;
}
