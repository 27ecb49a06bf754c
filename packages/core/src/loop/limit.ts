import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { Msg } from '../message/msg.ts';
import type { LoopSteps } from './loop-steps.ts';
import type { Reply } from './reply/read-reply.ts';
import type { RunContext } from './run/run-context.ts';

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
 * (AgentScope: `summarizing`).
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
    if (!content.length)
      throw new AgentError('MODEL_BAD_RESPONSE', 'The model returned no answer.');
    const message = await steps.revise('post-summary', { ...reply.message, content });
    return { type: 'whole', message };
  };
}
