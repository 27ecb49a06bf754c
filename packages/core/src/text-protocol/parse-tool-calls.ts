import type { Scan } from './call-scanner.ts';
import type { ParsedReply, ReplyContext } from './parsed-reply.ts';
import { ReplyReader } from './reply-reader.ts';

/** The parts of a reply's context that the shipped parsers read. */
export type ParseContext = Partial<Pick<ReplyContext, 'finishReason' | 'replyIs' | 'parallel'>>;

/**
 * Parses a reply; the default parser. A call is a JSON object with `tool_name` and `arguments`.
 * `arguments` is an object or a string that contains its JSON. A list of such objects makes several
 * calls, which run in parallel. Calls may be in fences or bare, with words around them. JSON
 * without `tool_name` is an answer. A call that is cut off, malformed or without `arguments` is
 * invalid, and no call of the reply runs. Words after a call are dropped, and so is everything
 * after a made-up result. `<think>` parts do not count.
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

/** Interprets a text after its scan. `words`: the part that is not a call. */
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
