import { metadataOf, withMetadata } from '../../message/metadata.ts';
import type { Middleware, Reply, RunContext, Steps } from '../../agent/middleware.ts';
import { isNewAnswer } from '../../agent/next.ts';
import { misconfigured } from '../../error/agent-error.ts';
import type { JsonObject } from '../../message/json.ts';
import { textOf, toolUsesOf, type Msg } from '../../message/msg.ts';
import { outputToolName } from '../../schema/output-format.ts';
import { writtenText } from '../../message/text-history.ts';
import { abortable } from '../../wait/wait.ts';
import { replyContext, type CheckAnswer, type ReplyContext } from './parsed-reply.ts';

/** Value of `metadata.invalidReply`. The message itself has no text, except white space. */
interface InvalidReply {
  /** The refused answer, as the model reads it. */
  readonly text: string;
  /** The correction for the model. */
  readonly message: string;
  /**
   * Text of the reply without its tool call. Present if the reply calls a tool although the request
   * offered none.
   */
  readonly words?: string;
}

/** Returns a correction for an answer without text other than white space. */
export function refuseEmpty(reply: string): string | undefined {
  return reply.trim() ? undefined : 'Your reply is empty. Answer, or call a tool.';
}

/** How answers are checked. */
interface Checks {
  readonly reflect?: CheckAnswer | undefined;
  /** Whether a reply may make several tool calls. Default: true. */
  readonly parallel?: boolean;
}

/**
 * Returns a wrapper that checks each answer of the model, and asks the model to correct an invalid
 * one. The log gets the reply and the correction. A reply that is already invalid keeps its
 * correction. A reply with tool calls is no answer, unless it has a structured value.
 */
export function corrections(checks: Checks): NonNullable<Middleware['wrapReply']> {
  return (next) => async (reply, context, steps) => {
    const { stopSignal } = context;
    let { message } = reply;
    try {
      const problem = await abortable(problemIn(reply, stopSignal, checks), stopSignal);
      if (problem) message = await refuse(message, problem, steps);
    } catch (error) {
      if (!context.stopped) throw error;
      return steps.endStopped(partOf(message, context.stopped));
    }
    const made = await next({ ...reply, message });
    if (!isNewAnswer(made)) return made;
    const invalid = invalidIn(made.message);
    if (!invalid) return made;
    await steps.edit({ append: correctionOf(made.message, invalid, steps) });
    return { to: 'model' };
  };
}

/**
 * Returns the text without the tool call of an invalid reply that calls a tool although its request
 * offered none. Returns `undefined` for any other reply.
 */
export function wordsBesideCall(message: Msg): string | undefined {
  return invalidIn(message)?.words;
}

/** Returns the reply without the mark that it is invalid. */
export function withoutMark(reply: Msg): Msg {
  const { invalidReply: _invalid, ...metadata } = metadataOf(reply);
  return { ...reply, metadata: metadata as JsonObject };
}

/** Returns why the answer in a reply is not accepted, or `undefined` if nothing is wrong. */
async function problemIn(
  { message, request, isFinal }: Reply,
  signal: AbortSignal,
  { reflect, parallel = true }: Checks,
): Promise<InvalidReply | undefined> {
  // If no model wrote the message, no model can correct it.
  if (!request || isFinal || invalidIn(message)) return undefined;
  const { content } = message;
  const calls = toolUsesOf(message);
  const value = valueIn(calls);
  if (calls.length && value === undefined) return undefined;
  const text = value ?? textOf(message);
  // A reply with media is not empty, even without text.
  if (!text.trim() && content.some((block) => 'source' in block)) return undefined;
  const thinking = content.flatMap((block) => (block.type === 'thinking' ? block.thinking : []));
  const about = {
    thinking: thinking.join(''),
    finishReason: finishReasonOf(message),
    parallel,
    signal,
    ...(value !== undefined && { replyIs: 'value' as const }),
  };
  const correction = await correctionFor(text, reflect, replyContext(request, about));
  return correction ? { text: writtenText(message) ?? text, message: correction } : undefined;
}

/**
 * Returns the JSON of a structured value, if the reply calls the tool for structured values. A list
 * or a text is in the field `response`. Returns `undefined` for any other reply.
 */
function valueIn(calls: ReturnType<typeof toolUsesOf>): string | undefined {
  const input = calls.findLast(({ name }) => name === outputToolName)?.input ?? undefined;
  return input === undefined ? undefined : JSON.stringify(input);
}

function finishReasonOf(message: Msg): string {
  const { finishReason } = metadataOf(message);
  return typeof finishReason === 'string' ? finishReason : 'stop';
}

/**
 * Returns a correction for an answer that is not accepted. An empty answer is never accepted;
 * `reflect` may return its own correction for an empty answer.
 */
async function correctionFor(
  answer: string,
  reflect: CheckAnswer | undefined,
  context: ReplyContext,
): Promise<string | undefined> {
  const problem: unknown = (await reflect?.(answer, context)) ?? '';
  if (typeof problem === 'string') return problem || refuseEmpty(answer);
  const wrong = 'reflect must return a correction as text, or nothing';
  throw misconfigured(`${wrong}; got a ${typeof problem}.`);
}

/** Marks a reply as invalid, and takes its text back from the readers. */
async function refuse(message: Msg, problem: InvalidReply, steps: Steps): Promise<Msg> {
  const invalid = withMetadata(message, { invalidReply: { ...problem } });
  if (!problem.text.trim()) return invalid;
  await steps.emit('step-reset', { reason: 'protocol' });
  return { ...invalid, content: [] };
}

/** Returns the part of a reply to store after an interrupt: everything except the tool calls. */
function partOf(message: Msg, partial: NonNullable<RunContext['stopped']>): Msg {
  const content = message.content.filter(({ type }) => type !== 'tool_use');
  return withMetadata({ ...message, content }, { partial });
}

/** Returns the messages for the log: the reply, unless it is empty, and its correction. */
function correctionOf(reply: Msg, { text, message }: InvalidReply, steps: Steps): readonly Msg[] {
  const said = { ...withoutMark(reply), content: [{ type: 'text', text }] } as const;
  const asked = withMetadata(steps.message('user', message), { correction: 'message' });
  return text.trim() ? [withMetadata(said, { correction: 'reply' }), asked] : [asked];
}

function invalidIn(message: Msg): InvalidReply | undefined {
  const invalid = metadataOf(message).invalidReply as Partial<InvalidReply> | undefined;
  const isInvalid = typeof invalid?.text === 'string' && typeof invalid.message === 'string';
  return isInvalid ? (invalid as InvalidReply) : undefined;
}
