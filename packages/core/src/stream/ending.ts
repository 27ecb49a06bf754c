import type { AgentResult, StopReason } from '../event/agent-result.ts';
import type { Msg } from '../message/msg.ts';
import { externalCalls } from './external-calls.ts';

/**
 * How the answer of an agent call ends for its reader.
 *
 * - `complete`: the answer is whole.
 * - `calls`: tool calls wait for results of the client.
 * - `waiting`: the call waits for something that this format cannot give, such as an approval.
 * - `length`: a limit of the model or of the agent ended the answer.
 * - `filtered`: the provider's filter, a guard or a hook withheld the answer.
 * - `cut`: an interrupt or abort ended the answer, or the provider ended it without a known reason.
 * - `failed`: the agent call failed.
 */
export type Ending = 'complete' | 'calls' | 'waiting' | 'length' | 'filtered' | 'cut' | 'failed';

interface EndingWords {
  /** `status` of a response of the Responses API. */
  readonly status: 'completed' | 'incomplete' | 'failed';
  /** `incomplete_details.reason` of the Responses API, which has no word for the other endings. */
  readonly incomplete?: 'max_output_tokens' | 'content_filter';
  /**
   * `finish_reason` of chat completions. `length` is their only word for an answer that is not
   * whole.
   */
  readonly chat: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  /** `finishReason` of AI SDK's UI message stream. */
  readonly ui: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';
}

const words: Readonly<Record<Ending, EndingWords>> = {
  complete: { status: 'completed', chat: 'stop', ui: 'stop' },
  calls: { status: 'completed', chat: 'tool_calls', ui: 'tool-calls' },
  waiting: { status: 'incomplete', chat: 'stop', ui: 'tool-calls' },
  length: { status: 'incomplete', incomplete: 'max_output_tokens', chat: 'length', ui: 'length' },
  filtered: {
    status: 'incomplete',
    incomplete: 'content_filter',
    chat: 'content_filter',
    ui: 'content-filter',
  },
  cut: { status: 'incomplete', chat: 'length', ui: 'other' },
  failed: { status: 'failed', chat: 'length', ui: 'error' },
};

/** Endings of the stop reasons. With `complete`, the ending of the last reply counts. */
const endings: Readonly<Record<Exclude<StopReason, 'suspended'>, Ending>> = {
  stop: 'complete',
  'return-direct': 'complete',
  'stopped-by-hook': 'complete',
  'max-iterations': 'length',
  limit: 'length',
  rejected: 'filtered',
  interrupted: 'cut',
  aborted: 'cut',
  error: 'failed',
};

/** Returns the words of the wire formats for the end of an agent call. */
export function endingOf(result: AgentResult): EndingWords {
  const { reason, pending, message } = result;
  if (externalCalls(result).length) return words.calls;
  // A paused call waits for nothing.
  if (reason === 'suspended') return pending.length ? words.waiting : words.cut;
  const reply = replyEnding(message);
  const byReason = endings[reason];
  // A limit does not matter if the answer has the value that was asked for.
  const isWhole = byReason === 'complete' || (byReason === 'length' && result.output !== undefined);
  return words[isWhole || (byReason === 'length' && reply === 'filtered') ? reply : byReason];
}

const cutReplies: readonly (readonly [ending: Ending, finishReason: RegExp])[] = [
  ['length', /^(length|max_tokens|max_output_tokens)$/i],
  [
    'filtered',
    /^(content[-_]filter(ed)?|refusal|safety|recitation|blocklist|prohibited_content|spii)$/i,
  ],
  ['cut', /^(incomplete|max_messages|steered|interrupted)$/i],
];

/** Returns how a reply of the model ends: `complete`, `length`, `filtered` or `cut`. */
export function replyEnding({ metadata }: Msg): Ending {
  if (metadata?.['partial']) return 'cut';
  const finishReason = metadata?.['finishReason'];
  if (typeof finishReason !== 'string') return 'complete';
  return cutReplies.find(([, known]) => known.test(finishReason))?.[0] ?? 'complete';
}
