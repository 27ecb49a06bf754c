import { metadataOf } from '../message/metadata.ts';
import type { AgentResult, StopReason } from '../event/agent-result.ts';
import type { Msg } from '../message/msg.ts';
import { incompleteReason } from '../model/finish-reason.ts';

/**
 * How the answer of an agent call ends for its reader.
 *
 * - `complete`: the answer is whole.
 * - `calls`: tool calls wait for results of the client.
 * - `waiting`: the call waits for something that this format cannot give, such as an approval.
 * - `length`: a limit of the model or of the agent ended the answer.
 * - `filtered`: the provider's filter, a guard or a hook withheld the answer.
 * - `incomplete`: an interrupt or abort ended the answer, or the provider ended it for an unknown
 *   reason.
 * - `failed`: the agent call failed.
 */
export type AnswerEnding =
  | 'complete'
  | 'calls'
  | 'waiting'
  | 'length'
  | 'filtered'
  | 'incomplete'
  | 'failed';

/** Endings of the stop reasons. With `complete`, the ending of the last reply counts. */
const endings: Readonly<Record<Exclude<StopReason, 'suspended'>, AnswerEnding>> = {
  stop: 'complete',
  'return-direct': 'complete',
  'stopped-by-hook': 'complete',
  'max-iterations': 'length',
  limit: 'length',
  rejected: 'filtered',
  interrupted: 'incomplete',
  aborted: 'incomplete',
  error: 'failed',
};

/** Returns how an agent call ends for its reader. */
export function answerEnding(result: AgentResult): AnswerEnding {
  const { reason, pending, message } = result;
  // Calls that wait beside a rejection are of an earlier answer.
  if (reason !== 'rejected' && pending.some(({ kind }) => kind === 'external')) return 'calls';
  // A paused call waits for nothing.
  if (reason === 'suspended') return pending.length ? 'waiting' : 'incomplete';
  const reply = replyEnding(message);
  const byReason = endings[reason];
  // A limit does not matter if the answer has the value that was asked for.
  const isWhole = byReason === 'complete' || (byReason === 'length' && result.output !== undefined);
  return isWhole || (byReason === 'length' && reply === 'filtered') ? reply : byReason;
}

/** Returns how a reply of the model ends: `complete`, `length`, `filtered` or `incomplete`. */
export function replyEnding(message: Msg): AnswerEnding {
  const reason = metadataOf(message).partial ? 'other' : incompleteReason(message);
  return reason === 'other' ? 'incomplete' : (reason ?? 'complete');
}
