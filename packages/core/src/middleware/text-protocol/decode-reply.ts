import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import type { JsonObject, JsonValue } from '../../message/json/json.ts';
import type { Msg } from '../../message/msg.ts';
import { writtenReply } from '../../message/written-reply.ts';
import { abortable } from '../../model/abortable.ts';
import type { ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import type { Scan } from './call-scanner.ts';
import { isRefused, problemWith, valueIn } from './corrections.ts';
import { parseToolCalls, readScan } from './parse-tool-calls.ts';
import type { ParsedReply, ParseReply, Reflect, ReplyContext, TextCall } from './parsed-reply.ts';
import { offersTools } from '../../model/chat-model.ts';
import { TextReply } from './text-reply.ts';

interface DecodeOptions {
  readonly parse: ParseReply;
  readonly reflect: Reflect | undefined;
  readonly parallel: boolean;
  /** Last message of each request whose reply ends the agent call. */
  readonly last: WeakSet<Msg>;
  readonly signal: AbortSignal;
}

/**
 * Decodes a text reply into the deltas that a model with native tool calls would send. An invalid
 * reply gets no text; its metadata says what is wrong.
 */
export async function* decodeReply(
  request: ModelRequest,
  stream: AsyncIterable<readonly ModelDelta[]>,
  options: DecodeOptions,
): AsyncGenerator<readonly ModelDelta[]> {
  const isOwnParser = options.parse !== parseToolCalls;
  const scans =
    isOwnParser ||
    request.tools.length > 0 ||
    request.messages.some(({ content }) => content.some(({ type }) => type === 'tool_use'));
  const reply = new TextReply({ scans, holdsAll: isOwnParser });
  for await (const batch of stream) {
    const deltas = reply.take(batch);
    if (deltas.length) yield deltas;
  }
  const { deltas, scan, words } = reply.end();
  if (deltas.length) yield deltas;
  const { text, finish = { type: 'finish' as const, reason: 'stop' } } = reply;
  const context = contextOf(request, reply, options);
  const ended: EndedReply = { reply, words, ...(scans && { scan }), context, options };
  try {
    const { parsed, triesCall } = await abortable(judge(ended), options.signal);
    const isCallWithoutTools = triesCall && !context.tools.length;
    const metadata = {
      ...finish.metadata,
      ...aboutReply(text, parsed, isCallWithoutTools ? { words } : {}),
    };
    yield [
      ...reply.settle(parsed),
      Object.keys(metadata).length ? { ...finish, metadata } : finish,
    ];
  } catch (error) {
    // Passes on the usage of the failed reply, because the user pays for the reply.
    yield [finish];
    throw error;
  }
}

interface EndedReply {
  readonly reply: TextReply;
  /** Text that is not part of a tool call. */
  readonly words: string;
  /** Tool calls in the text. Absent if the text was not scanned. */
  readonly scan?: Scan;
  readonly context: ReplyContext;
  readonly options: DecodeOptions;
}

function contextOf(
  request: ModelRequest,
  { thinking, finish }: TextReply,
  { parallel, signal }: DecodeOptions,
): ReplyContext {
  return {
    messages: request.messages,
    tools: offersTools(request) ? request.tools : [],
    thinking,
    finishReason: finish?.reason ?? 'stop',
    replyIs: request.replyIs,
    parallel,
    signal,
  };
}

/** Returns the meaning of a reply, and whether a reply that is checked tries to call a tool. */
async function judge(
  ended: EndedReply,
): Promise<{ readonly parsed: ParsedReply; readonly triesCall: boolean }> {
  const { reply, words, context, options } = ended;
  const { text, finish, callsNatively } = reply;
  const answer: ParsedReply = { type: 'answer', text };
  // The agent requests a note for itself, such as a summary. A note is not an answer, so it is
  // not checked.
  if (callsNatively || context.replyIs === 'note' || (finish && isRefused(finish)))
    return { parsed: answer, triesCall: false };
  const parsed = await parsedReply(ended);
  if (context.messages.some((message) => options.last.has(message))) {
    // The agent call ends now, so a tool call cannot run. Only the text beside it is left.
    if (parsed.type === 'calls' && !context.tools.length)
      return { parsed: { type: 'answer', text: parsed.text ?? words.trim() }, triesCall: false };
    return { parsed: parsed.type === 'invalid' ? answer : parsed, triesCall: false };
  }
  const message = await problemOf(parsed, ended);
  return {
    parsed: message ? { type: 'invalid', message } : parsed,
    triesCall: parsed.type !== 'answer',
  };
}

async function parsedReply({
  reply: { text },
  words,
  scan,
  context,
  options: { parse },
}: EndedReply): Promise<ParsedReply> {
  if (parse === parseToolCalls)
    return scan ? readScan(scan, text, words, context) : { type: 'answer', text };
  const parsed = checked(await parse(text, context, (given) => parseToolCalls(given, context)));
  // A custom parser may return an empty list of tool calls. The reply is then an answer.
  return parsed.type === 'calls' && !parsed.calls.length
    ? { type: 'answer', text: parsed.text ?? text }
    : parsed;
}

/** Returns a correction for a reply that is not accepted. */
async function problemOf(
  parsed: ParsedReply,
  { reply, context, options: { parallel, reflect } }: EndedReply,
): Promise<string | undefined> {
  if (parsed.type === 'invalid') return undefined;
  if (parsed.type === 'calls') {
    if (!context.tools.length)
      return 'No tool can be called any more. Answer in words, with what you know.';
    if (!parallel && parsed.calls.length > 1)
      return 'Only one tool can be called at a time, so none was called. Call one.';
    const value = valueIn(usesIn(parsed.calls));
    return value && problemWith(value, { ...context, replyIs: 'value' }, reflect);
  }
  // A reply with media may have no words.
  if (reply.hasMedia && !parsed.text.trim()) return undefined;
  return problemWith(parsed.text, context, reflect);
}

/**
 * Returns metadata for the reply's message. For an invalid reply, the metadata says what is wrong.
 * For tool calls, it has the text that the model wrote.
 */
function aboutReply(text: string, parsed: ParsedReply, more: JsonObject): JsonObject | undefined {
  if (parsed.type === 'invalid')
    return { invalidReply: { text, message: parsed.message, ...more } };
  if (parsed.type === 'answer') return undefined;
  return writtenReply(text, parsed.text ?? '', usesIn(parsed.calls));
}

function usesIn(
  calls: readonly TextCall[],
): { readonly name: string; readonly input: JsonValue }[] {
  return calls.map(({ name, arguments: input = {} }) => ({ name, input }));
}

function checked(given: ParsedReply): ParsedReply {
  const where = 'The result of parse';
  checkFields('CONFIGURATION', where, given, 'type:answer|calls|invalid');
  const fields = {
    answer: 'text:string',
    calls: 'calls:array text:string|?',
    invalid: 'message:string',
  };
  checkFields('CONFIGURATION', where, given, fields[given.type]);
  for (const call of given.type === 'calls' ? given.calls : []) {
    checkFields(
      'CONFIGURATION',
      `${where}: a call`,
      call,
      'name:string think:string|? returnDirect:boolean|?',
    );
    try {
      JSON.stringify(call.arguments);
    } catch (cause) {
      throw new AgentError(
        'CONFIGURATION',
        `${where}: the arguments of "${call.name}" cannot be written as JSON.`,
        { cause },
      );
    }
  }
  return given;
}
