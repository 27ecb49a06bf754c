import type { AgentResult } from '@isoloop/core';
import { answerState, type AnswerState } from '@isoloop/core/stream';

interface FinishWords {
  /** `status` of a response of the Responses API. */
  readonly status: 'completed' | 'incomplete' | 'failed';
  /** `incomplete_details.reason` of the Responses API, which has no word for the other states. */
  readonly incomplete?: 'max_output_tokens' | 'content_filter';
  /**
   * `finish_reason` of chat completions. `length` is their only word for an answer that is not
   * whole.
   */
  readonly chat: 'stop' | 'length' | 'tool_calls' | 'content_filter';
}

const words: Readonly<Record<AnswerState, FinishWords>> = {
  complete: { status: 'completed', chat: 'stop' },
  calls: { status: 'completed', chat: 'tool_calls' },
  waiting: { status: 'incomplete', chat: 'stop' },
  length: { status: 'incomplete', incomplete: 'max_output_tokens', chat: 'length' },
  filtered: { status: 'incomplete', incomplete: 'content_filter', chat: 'content_filter' },
  incomplete: { status: 'incomplete', chat: 'length' },
  failed: { status: 'failed', chat: 'length' },
};

/** Returns OpenAI's words for the end of an agent call. */
export function finishWords(result: AgentResult): FinishWords {
  return words[answerState(result)];
}
