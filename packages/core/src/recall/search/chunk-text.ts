import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';

export interface ChunkOptions {
  /** Estimated tokens of a chunk at most; default 400. */
  readonly maxTokens?: number;
  /**
   * Estimated tokens at the end of a chunk that the next one begins with, in whole sentences;
   * default 50. Less than half of `maxTokens`.
   */
  readonly overlap?: number;
}

interface Piece {
  readonly text: string;
  readonly tokens: number;
  /** A paragraph ends behind it. */
  readonly ends: boolean;
}

/**
 * Where a sentence or a line ends, with what closes it and the blanks behind it. A full stop of a
 * script with spaces ends one before a blank only. A run of them is tried once, from its start: no
 * text costs more than its length.
 */
const border = /(?:(?<![.!?…])[.!?…]+["'”’)\]]*(?=\s|$)|[。！？｡．]+[」』）”’"')\]】》]*|\n)\s*/gu;

/**
 * A text in pieces for an index, each a part of it as it stands: cut between paragraphs where it
 * can be, else between sentences (Chinese, Japanese and Korean ones as well), and within a sentence
 * only where that is longer than a chunk. Throws `CONFIGURATION`.
 */
export function chunkText(text: string, options: ChunkOptions = {}): readonly string[] {
  checkFields('CONFIGURATION', 'chunkText()', options, '');
  checkFields('CONFIGURATION', 'chunkText()', { text }, 'text:string');
  const { maxTokens = 400, overlap = 50 } = options;
  if (!(maxTokens >= 1))
    throw new AgentError('CONFIGURATION', 'chunkText(): maxTokens must be a number from 1 on');
  if (!(overlap >= 0 && overlap < maxTokens / 2)) {
    throw new AgentError(
      'CONFIGURATION',
      'chunkText(): overlap must be a number from 0 on, less than half of maxTokens',
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
 * Where a chunk from `start` ends: at the last paragraph's end that leaves it at least half full,
 * else where it is full.
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
 * Where the next chunk begins, for the end of the last one to be in it. Always further than the
 * last one began.
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
      // What is rounded down in each is not to add up.
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
 * A sentence longer than a chunk, in parts of about half a chunk, so that none of them is too long:
 * between words where there are any.
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
 * Not within a surrogate pair, nor between a letter and its marks, of which no language puts more
 * than a few.
 */
function endOfCharacter(text: string, at: number): number {
  const follow = /^(?:[\uDC00-\uDFFF]|\p{M}|\u200d.?)(?:\p{M}|\u200d.?){0,15}/su.exec(
    text.slice(at, at + 40),
  );
  return at + (follow?.[0].length ?? 0);
}
