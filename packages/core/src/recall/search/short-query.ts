const longest = 4_000;

/**
 * A query of 4,000 characters at most, cut in its middle: what a long message asks stands at its
 * start or its end.
 */
export function shortQuery(text: string): string {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest / 2)}\n${text.slice(-longest / 2)}`;
}
