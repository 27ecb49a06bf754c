import { AgentError } from '@isoloop/core';
import {
  checkOptions,
  natural,
  nonNegative,
  optional,
  type OptionTable,
} from '@isoloop/core/options';
import { estimateTokens } from '@isoloop/core/tokens';

/** How long the chunks of a text are, and how far they overlap. */
export interface ChunkOptions {
  /** Maximum number of estimated tokens of a chunk. Default: 400. */
  readonly maxTokens?: number;
  /**
   * Number of estimated tokens that a chunk repeats from the end of the previous chunk, in whole
   * sentences. Must be less than half of `maxTokens`. Default: 50.
   */
  readonly overlap?: number;
}

interface Piece {
  readonly text: string;
  readonly tokens: number;
  /** Whether the piece is the end of a paragraph. */
  readonly endsParagraph: boolean;
}

/**
 * Matches the end of a sentence or a line, with closing quotes or brackets and the whitespace after
 * it. In scripts with spaces, a full stop ends a sentence only before whitespace. The lookbehind
 * makes consecutive full stops match once, from the first, so that a search takes linear time.
 */
const sentenceEnd =
  /((?:(?<![.!?…])[.!?…]+["'”’)\]]*(?=\s|$)|[。！？｡．]+[」』）”’"')\]】》]*|\n)\s*)/u;

/**
 * Splits a text into chunks for a search index. Each chunk is an unchanged part of the text. Splits
 * between paragraphs if possible, otherwise between sentences, also in Chinese, Japanese and
 * Korean. Splits inside a sentence only if the sentence is longer than a chunk. Throws
 * `CONFIGURATION` for an invalid option.
 */
export function chunkText(text: string, options: ChunkOptions = {}): readonly string[] {
  checkOptions('chunkText()', options, chunkOptions);
  const { maxTokens = 400, overlap = 50 } = options;
  if (overlap >= maxTokens / 2)
    throw new AgentError(
      'CONFIGURATION',
      'chunkText(): overlap must be less than half of maxTokens',
    );
  if (estimateTokens(text) <= maxTokens) return text.trim() ? [text.trim()] : [];
  const chunks: string[] = [];
  const pieces = piecesOf(text, maxTokens);
  for (let start = 0; start < pieces.length;) {
    const end = chunkEnd(pieces, start, maxTokens);
    const texts = pieces.slice(start, end).map((piece) => piece.text);
    const chunk = texts.join('').trim();
    if (chunk) chunks.push(chunk);
    if (end >= pieces.length) break;
    start = nextStart(pieces, start, end, overlap);
  }
  return chunks;
}

const chunkOptions: OptionTable<ChunkOptions> = {
  maxTokens: optional(natural),
  overlap: optional(nonNegative),
};

/**
 * Returns the end of the chunk that begins at `start`. The chunk ends with the last paragraph that
 * fits, if the chunk is then at least half full. Otherwise it ends with the last piece that fits.
 */
function chunkEnd(pieces: readonly Piece[], start: number, maxTokens: number): number {
  let tokens = 0;
  let paragraph = 0;
  for (let end = start; end < pieces.length; end++) {
    tokens += pieces[end]!.tokens;
    if (tokens > maxTokens && end > start) return paragraph || end;
    if (pieces[end]!.endsParagraph && tokens * 2 >= maxTokens) paragraph = end + 1;
  }
  return pieces.length;
}

/**
 * Returns the start of the next chunk, which repeats the end of the previous chunk. The start is
 * always after the start of the previous chunk.
 */
function nextStart(pieces: readonly Piece[], start: number, end: number, overlap: number): number {
  let from = end;
  for (let tokens = 0; from > start + 1; from--) {
    tokens += pieces[from - 1]!.tokens;
    if (tokens > overlap) break;
  }
  return from;
}

function piecesOf(text: string, maxTokens: number): readonly Piece[] {
  return sentencesOf(text).flatMap((part) => {
    const endsParagraph = /\n[^\S\n]*\n/.test(part.slice(part.trimEnd().length));
    return splitLong(part, maxTokens).map((piece, index, pieces) => ({
      text: piece,
      // Adds 1 token, because the rounding errors of many pieces could add up.
      tokens: estimateTokens(piece) + 1,
      endsParagraph: endsParagraph && index === pieces.length - 1,
    }));
  });
}

function sentencesOf(text: string): readonly string[] {
  // The ends of the sentences stand between the sentences, because `sentenceEnd` captures them.
  const parts = text.split(sentenceEnd);
  return parts.flatMap((part, index) => (index % 2 ? [] : [part + (parts[index + 1] ?? '')]));
}

/**
 * Splits a sentence that is longer than a chunk into parts of about half a chunk, so that each part
 * fits. Splits between words if possible.
 */
function splitLong(part: string, maxTokens: number): readonly string[] {
  const tokens = estimateTokens(part);
  if (tokens < maxTokens) return [part];
  const length = Math.max(1, Math.floor((part.length / tokens) * (maxTokens / 2)));
  const parts: string[] = [];
  for (let start = 0; start < part.length;) {
    let end = start + length;
    const blankIndex = part.slice(start, end + 1).lastIndexOf(' ');
    if (end < part.length && blankIndex > length / 2) end = start + blankIndex + 1;
    end = endOfCharacter(part, end);
    parts.push(part.slice(start, end));
    start = end;
  }
  return parts;
}

/**
 * Moves an index to the end of the character that it would split: a surrogate pair, or a letter and
 * its marks. At most 15 marks are read, because no language uses more.
 */
function endOfCharacter(text: string, at: number): number {
  const follow = /^(?:[\uDC00-\uDFFF]|\p{M}|\u200d.?)(?:\p{M}|\u200d.?){0,15}/su.exec(
    text.slice(at, at + 40),
  );
  return at + (follow?.[0].length ?? 0);
}
