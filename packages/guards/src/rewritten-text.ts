/** A changed text, with the position of each character in the original text. */
export interface RewrittenText {
  readonly text: string;
  /** Returns the index in the original text at which the character begins. */
  readonly start: (index: number) => number;
  /** Returns the index in the original text after the character. */
  readonly end: (index: number) => number;
}

/** A part that changed, with its position in the original text and in the new text. */
interface Change {
  readonly start: number;
  readonly end: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** Replaces all matches of a pattern. */
export function rewriteText(
  raw: string,
  pattern: RegExp,
  replacementOf: (found: string) => string,
): RewrittenText {
  const changes: Change[] = [];
  const pieces: string[] = [];
  let from = 0;
  let growth = 0;
  for (const { 0: match, index: start } of raw.matchAll(pattern)) {
    const replacement = replacementOf(match);
    if (replacement === match) continue;
    pieces.push(raw.slice(from, start), replacement);
    from = start + match.length;
    const newStart = start + growth;
    const newEnd = newStart + replacement.length;
    changes.push({ start, end: from, newStart, newEnd });
    growth = newEnd - from;
  }
  const text = pieces.join('') + raw.slice(from);
  const rangeAt = (index: number): Pick<Change, 'start' | 'end'> => {
    const change = lastChange(changes, index);
    if (change && index < change.newEnd) return change;
    const start = change ? change.end + index - change.newEnd : index;
    return { start, end: start + 1 };
  };
  return { text, start: (index) => rangeAt(index).start, end: (index) => rangeAt(index).end };
}

/** Returns the last change that begins at or before an index of the new text. */
function lastChange(changes: readonly Change[], index: number): Change | undefined {
  let low = 0;
  let high = changes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (changes[middle]!.newStart <= index) low = middle + 1;
    else high = middle;
  }
  return changes[low - 1];
}
