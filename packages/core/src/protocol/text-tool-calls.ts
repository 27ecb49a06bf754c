import type { Extension } from '../agent/extension.ts';
import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { Awaitable, Hook } from '../hook/hook.ts';
import { assistantMessage, createMessage, userMessage } from '../message/create-message.ts';
import { isRecord } from '../message/is-record.ts';
import type { Msg } from '../message/msg.ts';
import { abortable } from '../model/abortable.ts';
import type { ChatModel, ModelDelta, ModelRequest, ToolSchema } from '../model/chat-model.ts';
import type { ParsedReply, ReplyContext } from './parsed-reply.ts';
import { parseToolCalls, readScan } from './parse-tool-calls.ts';
import { TextHistory } from './text-history.ts';
import { TextReply } from './text-reply.ts';
import { describeTools, toolsPrompt, type ToolsPromptContext } from './tools-prompt.ts';

/** What a reply's text, without its thinking, means. `fallback` is the default parser. */
export type ParseReply = (reply: string, context: ReplyContext, fallback: (reply: string) => ParsedReply) => Awaitable<ParsedReply>;

/** What to tell the model in place of taking its answer; nothing: the answer stands. */
export type Reflect = (reply: string, context: ReplyContext) => Awaitable<string | null | undefined | void>;

export interface TextToolCallsOptions {
  /** Default `parseToolCalls`. With a parser of one's own, `parseOxygent` too, a reply is held back whole, if tools are offered. */
  readonly parse?: ParseReply;
  /** Looks at each answer; what it gives back is told to the model as a correction. Default `refuseEmpty`. */
  readonly reflect?: Reflect;
  /** Whether a reply may make several calls, which run in parallel; default true. */
  readonly parallel?: boolean;
  /** The words that tell the model of its tools, put behind the system prompt as they are. Default: English ones. */
  readonly prompt?: (context: ToolsPromptContext) => string;
}

/** What marks an invalid reply in `metadata.correction`, and what it was told. */
export type CorrectionPart = 'reply' | 'message';

interface Invalid {
  readonly text: string;
  readonly message: string;
}

interface Protocol extends Required<TextToolCallsOptions> {
  readonly history: TextHistory;
  /** Last messages of requests whose reply ends the call. */
  readonly last: WeakSet<Msg>;
}

/**
 * For an agent's `extensions`: a model without tool calling acts by JSON in its text. Tools are described behind the system prompt, calls
 * and results of the log told as text; calls in a reply become ordinary tool calls, `<think>` parts thinking. Text that may still be a
 * call is held back; what was released and has to go is taken back by a `step-reset`. An invalid reply costs an iteration: the log gets it and
 * the correction as two messages with `metadata.correction`. A tool choice is told, not enforced; with `none` no tools are offered. Goes behind
 * `outputGuards`, before `fallback` and `retry`. Throws `CONFIGURATION` for an option of the wrong kind. (OxyGent: its ReAct agent's protocol.)
 */
export function textToolCalls(options: TextToolCallsOptions = {}): Extension & { wrapModel(model: ChatModel): ChatModel } {
  const where = 'textToolCalls()';
  checkFields('CONFIGURATION', where, options, 'parse:function|? reflect:function|? parallel:boolean|? prompt:function|?');
  const { parse = parseToolCalls, reflect = refuseEmpty, parallel = true, prompt = toolsPrompt } = options;
  const last = new WeakSet<Msg>();
  return {
    wrapModel(next) {
      const protocol: Protocol = { parse, reflect, parallel, prompt, last, history: new TextHistory(next.features.media) };
      const tell = teller(protocol);
      return {
        provider: next.provider,
        modelId: next.modelId,
        features: { ...next.features, tools: true },
        stream: (request, context) => decode(request, next.stream(tell(request), context), context.signal, protocol),
      };
    },
    hooks: [
      correct,
      {
        name: 'text-tool-calls',
        priority: 10_000,
        on: { 'pre-summary': ({ messages }) => void messages.slice(-1).map((asked) => last.add(asked)) },
      },
    ],
  };
}

/** Refuses an answer of nothing but white space. */
export function refuseEmpty(reply: string): string | undefined {
  return reply.trim() ? undefined : 'Your reply is empty. Answer, or call a tool.';
}

/** Before other hooks, so that theirs is the last word. */
const correct: Hook = {
  name: 'text-tool-calls',
  priority: -10_000,
  on: {
    'post-reasoning'({ message, at }, control) {
      const { invalidReply: invalid, ...metadata } = message.metadata ?? {};
      if (!isInvalid(invalid)) return;
      const about = (part: CorrectionPart) => ({
        id: `${message.id}:${part}`,
        now: () => at,
        metadata: { ...(part === 'reply' && metadata), correction: part },
      });
      const reply = invalid.text.trim() ? [assistantMessage(invalid.text, about('reply'))] : [];
      control.gotoReasoning([...reply, userMessage(invalid.message, about('message'))]);
    },
  },
};

function isInvalid(value: unknown): value is Invalid {
  return isRecord(value) && typeof value['text'] === 'string' && typeof value['message'] === 'string';
}

function offers({ tools, toolChoice }: ModelRequest): boolean {
  return tools.length > 0 && toolChoice !== 'none';
}

/** Makes the request that the model gets. */
function teller({ history, parallel, prompt }: Protocol): (request: ModelRequest) => ModelRequest {
  const described = new WeakMap<ToolSchema, string>();
  let known: { readonly before: Msg | undefined; readonly text: string; readonly message: Msg } | undefined;
  return (request) => {
    const { toolChoice = 'auto', ...rest } = request;
    const messages = history.render(request.messages);
    if (!offers(request) || toolChoice === 'none') return { ...rest, messages, tools: [] };
    const { tools } = request;
    const text = prompt({ tools, toolsText: describeTools(tools, described), parallel, toolChoice });
    if (typeof text !== 'string') throw new AgentError('CONFIGURATION', 'textToolCalls(): prompt must give a text.');
    const before = messages[0]?.role === 'system' ? messages[0] : undefined;
    // The same object each time: its wire form is cached on it.
    if (known?.before !== before || known?.text !== text) known = { before, text, message: withText(before, text) };
    return { ...rest, messages: [known!.message, ...messages.slice(before ? 1 : 0)], tools: [] };
  };
}

/** Models that take but one system message get but one. */
function withText(system: Msg | undefined, text: string): Msg {
  if (!system) return createMessage('system', text, { id: 'tools' });
  return { ...system, content: [...system.content, { type: 'text', text: `\n${text}` }] };
}

async function* decode(
  request: ModelRequest,
  stream: AsyncIterable<readonly ModelDelta[]>,
  signal: AbortSignal,
  protocol: Protocol,
): AsyncGenerator<readonly ModelDelta[]> {
  const scans = request.tools.length > 0 || request.messages.some(({ content }) => content.some(({ type }) => type === 'tool_use'));
  const reply = new TextReply({ scans, holdsAll: scans && protocol.parse !== parseToolCalls });
  for await (const batch of stream) {
    const deltas = reply.take(batch);
    if (deltas.length) yield deltas;
  }
  const { deltas, scan, words } = reply.end();
  if (deltas.length) yield deltas;
  const { text, thinking, finish = { type: 'finish' as const, reason: 'stop' } } = reply;
  const answer: ParsedReply = { type: 'answer', text };
  const context: ReplyContext = {
    messages: request.messages,
    tools: offers(request) ? request.tools : [],
    thinking,
    finishReason: finish.reason,
    signal,
  };
  const parse = async (): Promise<ParsedReply> => {
    if (reply.callsNatively) return answer;
    const { parse: own, reflect, parallel, last } = protocol;
    const isLast = request.messages.some((message) => last.has(message));
    const parsed = !scans
      ? answer
      : own === parseToolCalls
        ? readScan(scan, text, words, context)
        : checked(await own(text, context, (given) => parseToolCalls(given, context)));
    if (isLast) return parsed.type === 'invalid' ? answer : parsed;
    if (parsed.type === 'calls') {
      if (!context.tools.length)
        return { type: 'invalid', message: 'No tool can be called any more. Answer in words, with what you know.' };
      if (!parallel && parsed.calls.length > 1)
        return { type: 'invalid', message: 'Only one tool can be called at a time; none was called. Call one.' };
    }
    if (parsed.type !== 'answer') return parsed;
    const message = await reflect(parsed.text, context);
    if (message == null) return parsed;
    if (typeof message !== 'string') throw new AgentError('CONFIGURATION', 'textToolCalls(): reflect must give a text or nothing.');
    return { type: 'invalid', message };
  };
  const parsed = await abortable(parse(), signal);
  const invalid = parsed.type === 'invalid' && { invalidReply: { text, message: parsed.message } };
  yield [...reply.settle(parsed), invalid ? { ...finish, metadata: { ...finish.metadata, ...invalid } } : finish];
}

function checked(given: ParsedReply): ParsedReply {
  const where = 'textToolCalls(): what parse gives';
  checkFields('CONFIGURATION', where, given, 'type:answer|calls|invalid');
  checkFields(
    'CONFIGURATION',
    where,
    given,
    { answer: 'text:string', calls: 'calls:array text:string|?', invalid: 'message:string' }[given.type],
  );
  if (given.type === 'calls')
    for (const call of given.calls) checkFields('CONFIGURATION', `${where}: a call`, call, 'name:string think:string|?');
  return given;
}
