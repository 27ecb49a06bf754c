import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';

/** One line of a text, or a piece of a long line. */
export interface ResultLine {
  readonly text: string;
  /** Whether the next item continues the same line of the text. */
  readonly goesOn: boolean;
}

/**
 * Maximum length of a line, in UTF-16 units. A longer line, such as JSON without line breaks, is
 * split.
 */
const longest = 1_000;

export function linesOf(text: string): readonly ResultLine[] {
  return text.split(/\r\n|[\n\r]/).flatMap((line) => {
    const pieces: ResultLine[] = [];
    let rest = line;
    while (rest.length > longest) {
      // A cut must not separate the two halves of a surrogate pair.
      const end = /[\ud800-\udbff]/.test(rest[longest - 1]!) ? longest - 1 : longest;
      pieces.push({ text: rest.slice(0, end), goesOn: true });
      rest = rest.slice(end);
    }
    return [...pieces, { text: rest, goesOn: false }];
  });
}

/**
 * Returns the indexes of the lines that contain a text. Case and character width do not count. If a
 * match begins in one piece of a long line and ends in the next, the index of the first piece is
 * returned.
 */
export function findLines(lines: readonly ResultLine[], query: string): readonly number[] {
  const wanted = fold(query);
  return lines.flatMap(({ text, goesOn }, index) => {
    const folded = fold(text);
    if (folded.includes(wanted)) return index;
    if (!goesOn) return [];
    const next = fold(lines[index + 1]!.text);
    const seam = folded.slice(-wanted.length) + next.slice(0, wanted.length);
    return seam.includes(wanted) && !next.includes(wanted) ? index : [];
  });
}

/** Returns the number of texts, from the first, that together have at most `maxTokens` tokens. */
export function fitting(
  texts: readonly string[],
  maxTokens: number,
  profile: TokenProfile,
): number {
  let tokens = 0;
  const over = texts.findIndex(
    (text) => (tokens += estimateTokens(`${text}\n`, profile)) > maxTokens,
  );
  return over < 0 ? texts.length : over;
}

/** Normalizes case and character width, so that texts that look the same compare equal. */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
