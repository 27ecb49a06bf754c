import { checkOptions } from '../error/options/check-options.ts';
import { func, optional, string } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { textOf, type Msg } from '../message/msg.ts';
import type { CompleteReply, OnLimit, ReachedLimit } from './on-limit.ts';
import type { Run } from '../agent/middleware.ts';

/** How `summarize()` asks the model for its last answer. */
export interface SummarizeOptions {
  /**
   * Prompt of the last model request, sent as a user message and not stored. The default prompt
   * asks for an answer from the findings so far.
   */
  readonly prompt?: string;
  /**
   * Returns the messages to send instead of the conversation and the prompt. They are not stored.
   */
  readonly messages?: (limit: ReachedLimit, run: Run) => readonly Msg[];
}

/**
 * Returns a function for the option `onLimit`, which asks the model once more, without tools, for
 * an answer from the findings so far. If the model's reply has no text, the answer is a fixed text
 * that names the limit. Source: AgentScope, `summarizing`.
 */
export function summarize(options: SummarizeOptions = {}): OnLimit {
  checkOptions('summarize()', options, summarizeOptions);
  const { prompt = 'Your steps are used up. Answer now from what you have found.', messages } =
    options;
  return async (limit, run) => {
    const ownMessages = messages?.(limit, run);
    const defaultMessages = [...limit.refused.messages, run.createMessage('user', prompt)];
    const reply = await limit.ask(ownMessages ?? defaultMessages);
    if (reply.type === 'incomplete') return reply;
    // Some models call tools that the request did not offer. A last message with open tool calls
    // would make the history invalid.
    const content = reply.message.content.filter((block) => block.type !== 'tool_use');
    const isSaid = content.some((block) => 'source' in block) || textOf(reply.message).trim();
    if (!isSaid) return answerWithText(`${limitOf(run)} reached. Unable to generate summary.`, run);
    return complete({ ...reply.message, content }, run);
  };
}

const summarizeOptions: OptionTable<SummarizeOptions> = {
  prompt: optional(string),
  messages: optional(func),
};

/**
 * Returns an answer that the model did not write. Sends a `step-reset` first, because the text that
 * the model streamed is no longer valid.
 */
export async function answerWithText(text: string, run: Run): Promise<CompleteReply> {
  const message = run.createMessage('assistant', text);
  await run.events.emit('step-reset', { reason: 'no-summary' });
  await run.events.emit('summary-chunk', { blockId: `${message.id}:0`, delta: text });
  return complete(message, run);
}

/** Passes a last reply through the `post-summary` hooks. */
async function complete(message: Msg, run: Run): Promise<CompleteReply> {
  const { event } = await run.events.revise('post-summary', { message });
  return { type: 'complete', message: event.message };
}

/** Returns the name of the limit that was reached. */
export function limitOf({ iteration, options }: Run): string {
  const { iterations, tokens } = options.limits;
  if (iteration >= iterations) return `Maximum iterations (${iterations})`;
  return tokens === undefined ? 'Maximum tokens' : `Maximum tokens (${tokens})`;
}

/** Returns the agent's `onLimit`, or else `summarize()`. */
export function onLimitOf({ options }: Run): OnLimit {
  return options.onLimit ?? summarize();
}
