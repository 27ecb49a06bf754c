import { checkFields } from '../error/check-fields.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import type { LoopSteps } from './loop-steps.ts';
import type { Reply } from './reply/read-reply.ts';
import type { RunContext } from './run/run-context.ts';
import { runOf } from './run/run-view.ts';

/**
 * Returns the closing reply of a call whose iterations are used up. All tool calls have results by
 * then.
 */
export type OnLimit = (context: RunContext, steps: LoopSteps) => Promise<Reply>;

export interface SummarizeOptions {
  /**
   * The prompt, sent as a user message and not stored. Default: asks for an answer from the
   * findings so far.
   */
  readonly prompt?: string;
  /** The messages to send in place of the conversation and the prompt. They are not stored. */
  readonly messages?: (context: RunContext, steps: LoopSteps) => readonly Msg[];
}

/**
 * Sends one more request, without tools, that asks for an answer from the findings so far
 * (AgentScope: `summarizing`). If the reply has no text, such as one that only calls tools, the
 * answer is a fixed text that names the limit.
 */
export function summarize(options: SummarizeOptions = {}): OnLimit {
  checkFields('CONFIGURATION', 'summarize()', options, 'prompt:string|? messages:function|?');
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
    // Some models call tools that were not offered. A closing message with open calls would make
    // the history invalid.
    const content = reply.message.content.filter((block) => block.type !== 'tool_use');
    const isSaid = content.some((block) => 'source' in block) || textOf(reply.message).trim();
    if (!isSaid) return noSummary(context, steps);
    const message = await steps.revise('post-summary', { ...reply.message, content });
    return { type: 'whole', message };
  };
}

/** Answers without the model. What it streamed before is no longer valid. */
export async function noSummary(context: RunContext, steps: LoopSteps): Promise<Reply> {
  const { iterations = 10, tokens } = runOf(context).setup.options.limits ?? {};
  const limit =
    context.iteration >= iterations
      ? `Maximum iterations (${iterations})`
      : `Maximum tokens (${tokens})`;
  const given = steps.message('assistant', `${limit} reached. Unable to generate summary.`);
  await steps.notify('step-reset', { reason: 'no-summary' });
  await steps.notify('summary-chunk', { blockId: `${given.id}:0`, delta: textOf(given) });
  const message = await steps.revise('post-summary', given);
  return { type: 'whole', message };
}
