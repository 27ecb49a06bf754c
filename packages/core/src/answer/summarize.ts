import type { RunContext } from '../agent/middleware.ts';
import { checkOptions } from '../error/check-options.ts';
import { func, optional, string } from '../error/kinds.ts';
import type { OptionTable } from '../error/option-table.ts';
import { textOf, type Msg } from '../message/msg.ts';
import type { CompleteReply, LimitSteps, OnLimit } from './on-limit.ts';

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
  readonly messages?: (context: RunContext, steps: LimitSteps) => readonly Msg[];
}

/**
 * Returns a function for the option `onLimit`, which asks the model once more, without tools, for
 * an answer from the findings so far (AgentScope: `summarizing`). If the model's reply has no text,
 * the answer is a fixed text that names the limit.
 */
export function summarize(options: SummarizeOptions = {}): OnLimit {
  checkOptions('summarize()', options, summarizeOptions);
  const { prompt = 'Your steps are used up. Answer now from what you have found.', messages } =
    options;
  return async (context, steps) => {
    const ownMessages = messages?.(context, steps);
    const defaultMessages = [...steps.refused.messages, steps.message('user', prompt)];
    const reply = await steps.ask(ownMessages ?? defaultMessages);
    if (reply.type === 'incomplete') return reply;
    // Some models call tools that the request did not offer. A last message with open tool calls
    // would make the history invalid.
    const content = reply.message.content.filter((block) => block.type !== 'tool_use');
    const isSaid = content.some((block) => 'source' in block) || textOf(reply.message).trim();
    if (!isSaid)
      return answerWithText(`${limitOf(context)} reached. Unable to generate summary.`, steps);
    return complete({ ...reply.message, content }, steps);
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
export async function answerWithText(text: string, steps: LimitSteps): Promise<CompleteReply> {
  const message = steps.message('assistant', text);
  await steps.emit('step-reset', { reason: 'no-summary' });
  await steps.emit('summary-chunk', { blockId: `${message.id}:0`, delta: text });
  return complete(message, steps);
}

/** Passes a last reply through the `post-summary` hooks. */
async function complete(message: Msg, steps: LimitSteps): Promise<CompleteReply> {
  const { event } = await steps.revise('post-summary', { message });
  return { type: 'complete', message: event.message };
}

/** Returns the name of the limit that was reached. */
export function limitOf({ iteration, options }: RunContext): string {
  const { iterations, tokens } = options.limits;
  if (iteration >= iterations) return `Maximum iterations (${iterations})`;
  return tokens === undefined ? 'Maximum tokens' : `Maximum tokens (${tokens})`;
}

/** Returns the agent's `onLimit`, or else `summarize()`. */
export function onLimitOf({ options }: RunContext): OnLimit {
  return options.onLimit ?? summarize();
}
