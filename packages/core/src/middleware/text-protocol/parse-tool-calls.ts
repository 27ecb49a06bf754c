import type { ParsedReply } from './parsed-reply.ts';
import { ReplyReader, type ParseContext } from './reply-reader.ts';

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
  reader.push(reply);
  reader.end();
  return reader.parsedReply(context);
}
