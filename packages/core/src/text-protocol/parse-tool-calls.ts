import type { Scan } from './call-scanner.ts';
import type { ParsedReply, ReplyContext } from './parsed-reply.ts';
import { ReplyReader } from './reply-reader.ts';

/** What of a reply's context the shipped parsers look at. */
export type ParseContext = Partial<Pick<ReplyContext, 'finishReason' | 'replyIs'>>;

/**
 * The default parser. A call is a JSON object with `tool_name` and `arguments` (also as a JSON
 * string), or a list of such, in fences or bare, with words around it; several are run in parallel.
 * JSON without `tool_name` is an answer. A call that is broken off, malformed or without
 * `arguments` is invalid: no call of the reply is made then. Words after a call, and what follows a
 * made-up result, are dropped; `<think>` parts do not count.
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

/** What a text means that has been scanned. `words`: what of it is no call. */
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
