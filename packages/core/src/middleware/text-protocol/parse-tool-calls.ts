import type { Scan } from './call-scanner.ts';
import type { ParsedReply, ReplyContext } from './parsed-reply.ts';
import { ReplyReader } from './reply-reader.ts';

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
