import { CallScanner, type Scan } from './call-scanner.ts';
import type { ParsedReply, ReplyContext } from './parsed-reply.ts';

/** Fields of a reply's context that `parseToolCalls` and `parseOxygent` read. */
export type ParseContext = Partial<Pick<ReplyContext, 'finishReason' | 'replyIs' | 'parallel'>>;

/**
 * Finds the tool calls in the text of a reply. This is the default parser. A tool call is a JSON
 * object with `tool_name` and `arguments`. `arguments` is an object, or a string that contains the
 * JSON of an object. A list of such objects makes several tool calls, which run in parallel. A tool
 * call may have a code fence or words around it. JSON without `tool_name` is an answer. If a tool
 * call is incomplete, malformed or without `arguments`, the reply is invalid and none of its tool
 * calls runs. Words after a tool call are dropped. Everything after a tool result that the model
 * invented is dropped too. `<think>` parts are ignored.
 */
export function parseToolCalls(reply: string, context?: ParseContext): ParsedReply {
  const reader = new ReplyReader(true);
  const pieces = reader.push(reply);
  const { pieces: last, scan } = reader.end();
  let words = '';
  for (const piece of [...pieces, ...last])
    words = piece.type === 'text' ? words + piece.text : piece.type === 'retract' ? '' : words;
  return readScan(scan, reader.text, words, context);
}

/** Returns the meaning of a scanned text. `words`: the part of the text that is not a tool call. */
export function readScan(
  { calls, problem }: Scan,
  text: string,
  words: string,
  context?: ParseContext,
): ParsedReply {
  if (problem !== undefined) {
    const why =
      context?.finishReason === 'length' ? ' Your reply reached its length limit: be shorter.' : '';
    return {
      type: 'invalid',
      message: `${problem}${why} No tool was called. Reply again, with the corrected call or with your answer.`,
    };
  }
  if (!calls.length) return { type: 'answer', text };
  return { type: 'calls', calls, ...(words && { text: words }) };
}

/**
 * Piece of a reply's text. `retract`: all text so far was thinking; pieces of thinking with the
 * same text follow.
 */
export type TextPiece =
  | { readonly type: 'text'; readonly text: string }
  /** `block`: number of the thought, from 1, that the piece belongs to. */
  | { readonly type: 'thinking'; readonly block: number; readonly text: string }
  | { readonly type: 'retract' };

const open = '<think>';
const close = '</think>';

/**
 * Separates a reply's thinking from its text, and words in the text from possible tool calls. Reads
 * the reply piece by piece. A `<think>` or `</think>` tag may be split over two pieces. A tag in a
 * string of a tool call is text. Thinking without an end tag continues to the end of the reply. If
 * an end tag has no start tag, all text before it is thinking, as in DeepSeek's templates.
 */
export class ReplyReader {
  #scanner: CallScanner | undefined;
  readonly #scans: boolean;
  /** Withheld text that may be the beginning of a tag. */
  #tag = '';
  #isThinking = false;
  #blocks = 0;
  /** All text so far, without thinking. */
  text = '';
  thinking = '';

  /** `scans`: whether the reply may contain tool calls. */
  constructor(scans: boolean) {
    this.#scans = scans;
    if (scans) this.#scanner = new CallScanner();
  }

  push(given: string): TextPiece[] {
    const out: TextPiece[] = [];
    const text = this.#tag + given;
    this.#tag = '';
    for (let index = 0; index < text.length;) {
      const found = text.indexOf('<', index);
      const end = found < 0 ? text.length : found;
      this.#add(text.slice(index, end), out);
      index = end;
      if (found < 0) break;
      const rest = text.slice(end, end + close.length);
      const tag =
        !this.#scanner?.inString &&
        [open, close].find((one) => one.startsWith(rest) || rest.startsWith(one));
      if (tag && rest.length < tag.length) {
        this.#tag = rest;
        break;
      }
      if (tag === open) this.#begin();
      else if (tag) this.#end(out);
      else this.#add('<', out);
      index += tag ? tag.length : 1;
    }
    return out;
  }

  /** Ends the reply. Returns its last pieces and the scan of its text. */
  end(): { readonly pieces: readonly TextPiece[]; readonly scan: Scan } {
    const pieces: TextPiece[] = [];
    this.#add(this.#tag, pieces);
    this.#tag = '';
    let scan = this.#scanner?.end() ?? nothing;
    // A thought may contain an incomplete tool call. The end tag of the thought then looks like a
    // part of the tool call's string.
    const thought = scan.problem === undefined ? -1 : this.text.lastIndexOf(close);
    if (thought >= 0) {
      const answer = this.text.slice(thought + close.length);
      this.text = this.text.slice(0, thought);
      this.#end(pieces);
      this.#add(answer, pieces);
      scan = this.#scanner!.end();
    }
    if (scan.rest) give(pieces, { type: 'text', text: scan.rest });
    return { pieces, scan };
  }

  #add(given: string, out: TextPiece[]): void {
    if (this.#isThinking) {
      if (given) this.#think(given, out);
      return;
    }
    // Drops white space between a thought and the answer.
    const text = this.text || !this.#blocks ? given : given.trimStart();
    if (!text) return;
    this.text += text;
    const words = this.#scanner ? this.#scanner.push(text) : text;
    if (words) give(out, { type: 'text', text: words });
  }

  #think(text: string, out: TextPiece[]): void {
    this.thinking += text;
    give(out, { type: 'thinking', block: this.#blocks, text });
  }

  #begin(): void {
    if (this.#isThinking) return;
    this.#isThinking = true;
    this.#blocks += 1;
  }

  #end(out: TextPiece[]): void {
    if (!this.#isThinking) {
      const thought = this.text;
      this.text = '';
      this.#blocks += 1;
      if (this.#scans) this.#scanner = new CallScanner();
      out.push({ type: 'retract' });
      if (thought) this.#think(thought, out);
    }
    this.#isThinking = false;
  }
}

/** Adds a piece, or appends its text to the last piece if that piece is of the same kind. */
function give(out: TextPiece[], piece: Exclude<TextPiece, { type: 'retract' }>): void {
  const last = out.at(-1);
  const goesOn =
    piece.type === 'text'
      ? last?.type === 'text'
      : last?.type === 'thinking' && last.block === piece.block;
  if (goesOn) out[out.length - 1] = { ...piece, text: (last as typeof piece).text + piece.text };
  else out.push(piece);
}

const nothing: Scan = { rest: '', calls: [], problem: undefined };
