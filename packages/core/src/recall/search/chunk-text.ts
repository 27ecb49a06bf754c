import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';

export interface ChunkOptions {
  /** Maximum estimated tokens of a chunk; default 400. */
  readonly maxTokens?: number;
  /**
   * Estimated tokens, in whole sentences, that the end of a chunk shares with the start of the next
   * one; default 50. Less than half of `maxTokens`.
   */
  readonly overlap?: number;
}

interface Piece {
  readonly text: string;
  readonly tokens: number;
  /** Whether a paragraph ends after the piece. */
  readonly ends: boolean;
}

/**
 * Matches the end of a sentence or a line, with closing quotes or brackets and the whitespace after
 * it. In scripts with spaces, a full stop ends a sentence only before whitespace. The lookbehind
 * tries a run of full stops once, from its start, so matching takes linear time.
 */
const border = /(?:(?<![.!?…])[.!?…]+["'”’)\]]*(?=\s|$)|[。！？｡．]+[」』）”’"')\]】》]*|\n)\s*/gu;

/**
 * Splits a text into chunks for an index; each chunk is an unchanged part of the text. Splits
 * between paragraphs if possible, else between sentences, including Chinese, Japanese and Korean
 * ones. Splits within a sentence only if it is longer than a chunk. Throws `CONFIGURATION`.
 */
export function chunkText(text: string, options: ChunkOptions = {}): readonly string[] {
  checkFields('CONFIGURATION', 'chunkText()', options, '');
  checkFields('CONFIGURATION', 'chunkText()', { text }, 'text:string');
  const { maxTokens = 400, overlap = 50 } = options;
  if (!(maxTokens >= 1))
    throw new AgentError('CONFIGURATION', 'chunkText(): maxTokens must be a number of 1 or more');
  if (!(overlap >= 0 && overlap < maxTokens / 2)) {
    throw new AgentError(
      'CONFIGURATION',
      'chunkText(): overlap must be a number of 0 or more, less than half of maxTokens',
    );
  }
  if (estimateTokens(text) <= maxTokens) return text.trim() ? [text.trim()] : [];
  const chunks: string[] = [];
  const pieces = piecesOf(text, maxTokens);
  for (let start = 0; start < pieces.length;) {
    const end = endOf(pieces, start, maxTokens);
    const chunk = joined(pieces, start, end).trim();
    if (chunk) chunks.push(chunk);
    if (end >= pieces.length) break;
    start = backFrom(pieces, start, end, overlap);
  }
  return chunks;
}

/**
 * Returns the end of the chunk that begins at `start`: the last paragraph end that leaves the chunk
 * at least half full. If there is none, the chunk ends where it is full.
 */
function endOf(pieces: readonly Piece[], start: number, maxTokens: number): number {
  let tokens = 0;
  let paragraph = 0;
  for (let end = start; end < pieces.length; end++) {
    tokens += pieces[end]!.tokens;
    if (tokens > maxTokens && end > start) return paragraph || end;
    if (pieces[end]!.ends && tokens * 2 >= maxTokens) paragraph = end + 1;
  }
  return pieces.length;
}

/**
 * Returns the start of the next chunk, so that it overlaps the end of the last one. Always after
 * the start of the last one.
 */
function backFrom(pieces: readonly Piece[], start: number, end: number, overlap: number): number {
  let from = end;
  for (let tokens = 0; from > start + 1; from--) {
    tokens += pieces[from - 1]!.tokens;
    if (tokens > overlap) break;
  }
  return from;
}

function joined(pieces: readonly Piece[], start: number, end: number): string {
  return pieces
    .slice(start, end)
    .map(({ text }) => text)
    .join('');
}

function piecesOf(text: string, maxTokens: number): readonly Piece[] {
  return sentencesOf(text).flatMap((part) => {
    const ends = /\n[^\S\n]*\n/.test(part.slice(part.trimEnd().length));
    return cutLong(part, maxTokens).map((piece, index, all) => ({
      text: piece,
      // Plus one, because the rounding errors of the pieces would add up.
      tokens: estimateTokens(piece) + 1,
      ends: ends && index === all.length - 1,
    }));
  });
}

function sentencesOf(text: string): readonly string[] {
  const sentences: string[] = [];
  let start = 0;
  for (const { index, 0: found } of text.matchAll(border)) {
    sentences.push(text.slice(start, index + found.length));
    start = index + found.length;
  }
  if (start < text.length) sentences.push(text.slice(start));
  return sentences;
}

/**
 * Splits a sentence that is longer than a chunk into parts of about half a chunk, so that each part
 * fits. Splits between words if there are any.
 */
function cutLong(part: string, maxTokens: number): readonly string[] {
  const tokens = estimateTokens(part);
  if (tokens < maxTokens) return [part];
  const length = Math.max(1, Math.floor((part.length / tokens) * (maxTokens / 2)));
  const parts: string[] = [];
  for (let start = 0; start < part.length;) {
    let end = start + length;
    const blank = part.slice(start, end + 1).lastIndexOf(' ');
    if (end < part.length && blank > length / 2) end = start + blank + 1;
    end = endOfCharacter(part, end);
    parts.push(part.slice(start, end));
    start = end;
  }
  return parts;
}

/**
 * Moves a split position out of a surrogate pair, or from between a letter and its marks. Limits
 * the marks, because no language uses more than a few.
 */
function endOfCharacter(text: string, at: number): number {
  const follow = /^(?:[\uDC00-\uDFFF]|\p{M}|\u200d.?)(?:\p{M}|\u200d.?){0,15}/su.exec(
    text.slice(at, at + 40),
  );
  return at + (follow?.[0].length ?? 0);
}
