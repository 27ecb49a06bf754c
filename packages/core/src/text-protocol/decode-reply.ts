import { checkFields } from '../error/options/check-fields.ts';
import { oneOf } from '../error/options/kinds.ts';
import type { JsonObject } from '../message/json.ts';
import { writtenReply } from '../message/conversation/text-history.ts';
import type { ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { abortable } from '../wait/abort.ts';
import { parseToolCalls } from './reply-reader.ts';
import {
  replyContext,
  type ParsedReply,
  type ReplyContext,
  type ReplyParser,
} from './parsed-reply.ts';
import { TextReply } from './text-reply.ts';

interface DecodeOptions {
  readonly parse: ReplyParser;
  readonly parallel: boolean;
  /** Whether all text before the last end tag of thinking is thinking. */
  readonly dropsTextBefore: boolean;
  readonly signal: AbortSignal;
}

/**
 * Decodes a text reply into the deltas that a model with native tool calls would send. An invalid
 * reply gets no text; its metadata says what is wrong.
 */
export async function* decodeReply(
  request: ModelRequest,
  stream: AsyncIterable<readonly ModelDelta[]>,
  { parse, parallel, dropsTextBefore, signal }: DecodeOptions,
): AsyncGenerator<readonly ModelDelta[]> {
  const isCustomParser = parse !== parseToolCalls;
  const mayCallTools =
    isCustomParser ||
    request.tools.length > 0 ||
    request.messages.some(({ content }) => content.some(({ type }) => type === 'tool_use'));
  const begin = (): TextReply => new TextReply(mayCallTools, isCustomParser, dropsTextBefore);
  let reply = begin();
  for await (const batch of stream) {
    const deltas: ModelDelta[] = [];
    for (const delta of batch) {
      if (delta.type !== 'reset') reply.take(delta, deltas);
      else {
        reply = begin();
        deltas.push(delta);
      }
    }
    if (deltas.length) yield deltas;
  }
  const last = reply.end();
  if (last.length) yield last;
  const { text, thinking, finish = { type: 'finish' as const, reason: 'stop' } } = reply;
  const fields = { thinking, finishReason: finish.reason, parallel, signal };
  const context = replyContext(request, fields);
  try {
    const meaning = await abortable(meaningOf(reply, context, parse, request.isFinal), signal);
    const metadata = { ...finish.metadata, ...aboutReply(text, meaning) };
    const hasMetadata = Object.keys(metadata).length > 0;
    yield [...reply.complete(meaning), hasMetadata ? { ...finish, metadata } : finish];
  } catch (error) {
    // Passes on the usage of the failed reply, because the user pays for the reply.
    yield [finish];
    throw error;
  }
}

/** A reply's meaning. `proseText`: text of an invalid reply that calls a tool without tools. */
type Meaning = ParsedReply & { readonly proseText?: string };

/**
 * Returns the meaning of a reply. With `isFinal`, the model cannot correct the reply, so an invalid
 * text is the answer, too.
 */
async function meaningOf(
  reply: TextReply,
  context: ReplyContext,
  parse: ReplyParser,
  isFinal = false,
): Promise<Meaning> {
  const { text, callsNatively } = reply;
  const { proseText } = reply.reader;
  const answer: ParsedReply = { type: 'answer', text };
  // The agent requests a note for itself, such as a summary. A note calls no tools.
  if (callsNatively || context.replyFor === 'model') return answer;
  const meaning = await parsedReply(reply, context, parse);
  if (meaning.type === 'answer') return meaning;
  const hasTools = context.tools.length > 0;
  if (isFinal) {
    if (meaning.type === 'invalid') return answer;
    return hasTools ? meaning : { type: 'answer', text: meaning.text ?? proseText.trim() };
  }
  const message = problemOf(meaning, context);
  if (message === undefined) return meaning;
  return { type: 'invalid', message, ...(!hasTools && { proseText }) };
}

async function parsedReply(
  reply: TextReply,
  context: ReplyContext,
  parse: ReplyParser,
): Promise<ParsedReply> {
  if (parse === parseToolCalls) return reply.reader.parsedReply(context);
  const { text } = reply;
  const meaning = await parse(text, context, (part) => parseToolCalls(part, context));
  checkFields('The result of parse', meaning, { type: oneOf('answer', 'calls', 'invalid') });
  // A custom parser may return an empty list of tool calls. The reply is then an answer.
  return meaning.type === 'calls' && !meaning.calls.length
    ? { type: 'answer', text: meaning.text ?? text }
    : meaning;
}

/** Returns a correction for tool calls that cannot run. */
function problemOf(
  reply: Exclude<ParsedReply, { type: 'answer' }>,
  { tools, parallel }: ReplyContext,
): string | undefined {
  if (reply.type === 'invalid') return reply.message;
  if (!tools.length) return 'No tool can be called any more. Answer in words, with what you know.';
  return !parallel && reply.calls.length > 1
    ? 'Only one tool can be called at a time, so none was called. Call one.'
    : undefined;
}

/**
 * Returns metadata for the reply's message. For an invalid reply, the metadata says what is wrong.
 * For tool calls, it has the text that the model wrote.
 */
function aboutReply(text: string, meaning: Meaning): JsonObject | undefined {
  if (meaning.type === 'answer') return undefined;
  if (meaning.type === 'invalid') {
    const { message, proseText } = meaning;
    return { invalidReply: { text, message, ...(proseText !== undefined && { proseText }) } };
  }
  const uses = meaning.calls.map(({ name, arguments: input = {} }) => ({ name, input }));
  return writtenReply(text, meaning.text ?? '', uses);
}
