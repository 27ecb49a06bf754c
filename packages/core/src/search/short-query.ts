const longest = 4_000;

/**
 * Shortens a query of more than 4,000 characters to its first 2,000 and its last 2,000. A long
 * message usually has its question at the start or the end.
 */
export function shortQuery(text: string): string {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest / 2)}\n${text.slice(-longest / 2)}`;
}
