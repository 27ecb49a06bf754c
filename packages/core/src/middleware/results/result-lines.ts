import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';

/** A text as lines of a bounded length. */
export interface ResultLine {
  readonly text: string;
  /** Whether the next line is the rest of the same one. */
  readonly goesOn: boolean;
}

/** UTF-16 units of a line; a longer one, such as JSON without line breaks, is several. */
const longest = 1_000;

export function linesOf(text: string): readonly ResultLine[] {
  return text.split(/\r\n|[\n\r]/).flatMap((line) => {
    const pieces: ResultLine[] = [];
    let rest = line;
    while (rest.length > longest) {
      // Half of a pair is not shown alone.
      const end = /[\ud800-\udbff]/.test(rest[longest - 1]!) ? longest - 1 : longest;
      pieces.push({ text: rest.slice(0, end), goesOn: true });
      rest = rest.slice(end);
    }
    return [...pieces, { text: rest, goesOn: false }];
  });
}

/**
 * The indexes of lines that have a text in them, in whatever case and width; of one that is in two
 * lines the first.
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

/** How many of the first texts have no more tokens than that together. */
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

/** One form for what reads the same. */
function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
