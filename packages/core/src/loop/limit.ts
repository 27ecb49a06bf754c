import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { EventBatch } from '../event/agent-event.ts';
import type { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model.ts';
import { fitRequest } from './fit-request.ts';
import { readReply, type Reply } from './reply/read-reply.ts';
import type { Run } from './run.ts';

/**
 * How a call ends that has used up its iterations: yields events, returns the closing reply. All
 * tool calls have results by then.
 */
export type OnLimit = (run: Run) => AsyncGenerator<EventBatch, Reply>;

export interface SummarizeOptions {
  /**
   * What the model is asked, as a user message that is not stored; default: to answer from what it
   * has found.
   */
  readonly prompt?: string;
  /** What it is asked with in place of the conversation and the prompt; not stored either. */
  readonly messages?: (run: Run) => readonly Msg[];
}

/**
 * One more request without tools that asks for an answer from what is known (AgentScope:
 * `summarizing`).
 */
export function summarize(options: SummarizeOptions = {}): OnLimit {
  checkFields('CONFIGURATION', 'summarize()', options, 'prompt:string|? messages:function|?');
  const { prompt = 'Your steps are used up. Answer now from what you have found.', messages } =
    options;
  return async function* (run) {
    let asked = messages?.(run);
    if (!asked) {
      const fitted = yield* fitRequest(run);
      asked = [...fitted, run.message('user', prompt)];
    }
    const reply = yield* askAtLimit(run, asked);
    if (reply.type === 'cut') return reply;
    // Some models call tools that they were not offered; a closing message with open calls would
    // make the history invalid.
    const content = reply.message.content.filter((block) => block.type !== 'tool_use');
    if (!content.length) throw new AgentError('MODEL_BAD_RESPONSE', 'The model gave no answer.');
    return {
      type: 'whole',
      message: yield* run.revise('post-summary', { ...reply.message, content }),
    };
  };
}

/**
 * One request beyond the iterations, without tools; what it is made of beside the log is not
 * stored.
 */
export async function* askAtLimit(
  run: Run,
  messages: readonly Msg[],
  adapt = (request: ModelRequest): ModelRequest => request,
): AsyncGenerator<EventBatch, Reply> {
  const before = await run.modify('pre-summary', { messages });
  yield [before];
  const { toolChoice: _toolChoice, ...generate } = run.generate;
  return yield* readReply(
    run,
    adapt({ ...generate, messages: before.messages, tools: [] }),
    'summary',
  );
}
