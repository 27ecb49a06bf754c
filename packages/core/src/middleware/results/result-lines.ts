import { startOf } from '../../message/cut-text.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';

/** Maximum length of a line, in characters. A longer line, such as JSON without breaks, is split. */
const longest = 1_000;

export function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|[\n\r]/).flatMap((line) => {
    const pieces = [startOf(line, longest)];
    let length = pieces[0]!.length;
    while (length < line.length) {
      const piece = startOf(line.slice(length), longest);
      pieces.push(piece);
      length += piece.length;
    }
    return pieces;
  });
}

/**
 * Returns the indexes of the lines that contain a text. Case and character width do not count. A
 * match may end in the next piece of a line that was split.
 */
export function findLines(lines: readonly string[], query: string): readonly number[] {
  const wanted = fold(query);
  const folded = lines.map(fold);
  return folded.flatMap((line, index) => {
    if (line.includes(wanted)) return index;
    const isSplit = lines[index]!.length >= longest - 1;
    const next = isSplit ? (folded[index + 1] ?? '') : '';
    const seam = line.slice(-wanted.length) + next.slice(0, wanted.length);
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
