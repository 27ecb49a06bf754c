import { checkOptions } from '../error/check-fields.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import type { LoopSteps } from './loop-steps.ts';
import type { Reply, WholeReply } from './reply/read-reply.ts';
import type { RunContext } from './run/run-context.ts';
import { runOf } from './run/run-view.ts';

/**
 * Function that returns the last reply of an agent call at its limit of iterations or tokens. All
 * tool calls have results before the loop calls it.
 */
export type OnLimit = (context: RunContext, steps: LoopSteps) => Promise<Reply>;

export interface SummarizeOptions {
  /**
   * Prompt of the last model request, sent as a user message and not stored. The default prompt
   * asks for an answer from the findings so far.
   */
  readonly prompt?: string;
  /**
   * Returns the messages to send instead of the conversation and the prompt. They are not stored.
   */
  readonly messages?: (context: RunContext, steps: LoopSteps) => readonly Msg[];
}

/**
 * Returns a function that asks the model once more, without tools, for an answer from the findings
 * so far (AgentScope: `summarizing`). If the model's reply has no text, the answer is a fixed text
 * that names the limit.
 */
export function summarize(options: SummarizeOptions = {}): OnLimit {
  checkOptions('CONFIGURATION', 'summarize()', options, 'prompt:string|? messages:function|?');
  const { prompt = 'Your steps are used up. Answer now from what you have found.', messages } =
    options;
  return async (context, steps) => {
    let asked = messages?.(context, steps);
    if (!asked) {
      const fitted = await steps.fit();
      asked = [...fitted, steps.message('user', prompt)];
    }
    const reply = await steps.ask(asked);
    if (reply.type === 'cut') return reply;
    // Some models call tools that the request did not offer. A last message with open tool calls
    // would make the history invalid.
    const content = reply.message.content.filter((block) => block.type !== 'tool_use');
    const isSaid = content.some((block) => 'source' in block) || textOf(reply.message).trim();
    if (!isSaid) return noSummary(context, steps);
    const message = await steps.revise('post-summary', { ...reply.message, content });
    return { type: 'whole', message };
  };
}

/**
 * Returns an answer that the model did not write. `textFor` gets the name of the limit. Sends a
 * `step-reset` first, because the text that the model streamed is no longer valid.
 */
export async function noSummary(
  context: RunContext,
  steps: LoopSteps,
  textFor = (limit: string): string => `${limit} reached. Unable to generate summary.`,
): Promise<WholeReply> {
  const { iterations = 10, tokens } = runOf(context).setup.options.limits ?? {};
  const limit =
    context.iteration >= iterations
      ? `Maximum iterations (${iterations})`
      : `Maximum tokens (${tokens})`;
  const given = steps.message('assistant', textFor(limit));
  await steps.notify('step-reset', { reason: 'no-summary' });
  await steps.notify('summary-chunk', { blockId: `${given.id}:0`, delta: textOf(given) });
  const message = await steps.revise('post-summary', given);
  return { type: 'whole', message };
}
