import type { Middleware, Reply, Run } from '../agent/middleware.ts';
import type { HaltReason } from '../wait/halt.ts';
import { isNewAnswer } from '../agent/next.ts';
import type { JsonObject } from '../message/json.ts';
import { textOf, thinkingOf, toolUsesOf, type Msg } from '../message/msg.ts';
import { type InvalidReply, metadataOf, withMetadata } from '../message/metadata.ts';
import { outputToolName } from '../schema/output-format.ts';
import { writtenText } from '../message/conversation/text-history.ts';
import { abortable } from '../wait/abort.ts';
import { replyContext, type CheckAnswer } from './parsed-reply.ts';

/** Returns a correction for an answer without text other than white space. */
function refuseEmptyAnswers(reply: string): string | undefined {
  return reply.trim() ? undefined : 'Your reply is empty. Answer, or call a tool.';
}

/** How answers are checked. */
interface Checks {
  /** See `CheckAnswersOptions`. */
  readonly check?: CheckAnswer;
  /** Whether a reply may make several tool calls. Default: true. */
  readonly parallel?: boolean;
}

/**
 * Returns a wrapper that checks each answer of the model, and asks the model to correct an invalid
 * one. The log gets the reply and the correction. A reply that is already invalid keeps its
 * correction. A reply with tool calls is no answer, unless it has a structured value.
 */
export function corrections(checks: Checks): NonNullable<Middleware['wrapReply']> {
  return async (reply, next, run) => {
    const { stopSignal } = run;
    let { message } = reply;
    try {
      const problem = await abortable(problemIn(reply, stopSignal, checks), stopSignal);
      if (problem) message = await refuse(message, problem, run);
    } catch (error) {
      if (!run.ending.stopped) throw error;
      return run.ending.whenStopped(incompleteReply(message, run.ending.stopped));
    }
    const outcome = await next({ ...reply, message });
    const invalid = isNewAnswer(outcome) && metadataOf(outcome.message).invalidReply;
    if (!invalid) return outcome;
    await run.log.edit({ append: correctionOf(outcome.message, invalid, run) });
    return { to: 'model' };
  };
}

/** Returns the reply without the mark that it is invalid. */
function withoutMark(reply: Msg): Msg {
  const { invalidReply: _invalid, ...metadata } = metadataOf(reply);
  return { ...reply, metadata: metadata as JsonObject };
}

/**
 * Checks the answer in a reply. An empty answer is never accepted; `check` may return its own
 * correction for it. Returns `undefined` if nothing is wrong.
 */
async function problemIn(
  { message, request, isFinal }: Reply,
  signal: AbortSignal,
  { check, parallel = true }: Checks,
): Promise<InvalidReply | undefined> {
  const { finishReason = 'stop', invalidReply } = metadataOf(message);
  // If no model wrote the message, no model can correct it.
  if (!request || isFinal || invalidReply) return undefined;
  const value = valueIn(message);
  const text = value ?? answerIn(message);
  if (text === undefined) return undefined;
  const context = replyContext(request, {
    thinking: thinkingOf(message).join(''),
    finishReason,
    parallel,
    signal,
    ...(value !== undefined && { replyFor: 'program' }),
  });
  const correction = (await check?.(text, context)) || refuseEmptyAnswers(text);
  return correction ? { text: writtenText(message) ?? text, message: correction } : undefined;
}

/** Returns the JSON of a structured value, if the reply calls the tool for structured values. */
function valueIn(message: Msg): string | undefined {
  const call = toolUsesOf(message).findLast(({ name }) => name === outputToolName);
  const value = call?.input ?? undefined;
  return value === undefined ? undefined : JSON.stringify(value);
}

/**
 * Returns the text of an answer. Returns `undefined` for a reply with tool calls or media alone.
 */
function answerIn(message: Msg): string | undefined {
  const text = textOf(message);
  const hasMedia = message.content.some((block) => 'source' in block);
  return toolUsesOf(message).length || (hasMedia && !text.trim()) ? undefined : text;
}

/** Marks a reply as invalid, and takes its text back from the readers. */
async function refuse(message: Msg, invalidReply: InvalidReply, run: Run): Promise<Msg> {
  const invalid = withMetadata(message, { invalidReply });
  if (!invalidReply.text.trim()) return invalid;
  await run.events.emit('step-reset', { reason: 'protocol' });
  return { ...invalid, content: [] };
}

/** Returns the part of a reply to store after an interrupt: everything except the tool calls. */
function incompleteReply(message: Msg, partial: HaltReason): Msg {
  const content = message.content.filter(({ type }) => type !== 'tool_use');
  return withMetadata({ ...message, content }, { partial });
}

/** Returns the messages for the log: the reply, unless it is empty, and its correction. */
function correctionOf(reply: Msg, { text, message }: InvalidReply, run: Run): readonly Msg[] {
  const answer = { ...withoutMark(reply), content: [{ type: 'text', text }] } as const;
  const correction = withMetadata(run.createMessage('user', message), { correction: 'message' });
  return text.trim() ? [withMetadata(answer, { correction: 'reply' }), correction] : [correction];
}
