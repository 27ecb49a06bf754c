import { metadataOf } from '../message/metadata.ts';
import type { AgentResult, StopReason } from '../event/agent-result.ts';
import type { Msg } from '../message/msg.ts';
import { incompleteReason } from '../model/finish-reason.ts';

/**
 * What a reader gets of the answer of an agent call.
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
export type AnswerState =
  | 'complete'
  | 'calls'
  | 'waiting'
  | 'length'
  | 'filtered'
  | 'incomplete'
  | 'failed';

/** States by stop reason. With `complete`, the state of the last reply counts. */
const states: Readonly<Record<Exclude<StopReason, 'suspended'>, AnswerState>> = {
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

/** Returns what a reader gets of the answer of an agent call. */
export function answerState(result: AgentResult): AnswerState {
  const { reason, pending, message } = result;
  // Calls that wait beside a rejection are of an earlier answer.
  if (reason !== 'rejected' && pending.some(({ kind }) => kind === 'external')) return 'calls';
  // A paused call waits for nothing.
  if (reason === 'suspended') return pending.length ? 'waiting' : 'incomplete';
  const reply = replyState(message);
  const byReason = states[reason];
  // A limit does not matter if the answer has the value that was asked for.
  const isWhole = byReason === 'complete' || (byReason === 'length' && result.output !== undefined);
  return isWhole || (byReason === 'length' && reply === 'filtered') ? reply : byReason;
}

/** Returns the state of a reply of the model: `complete`, `length`, `filtered` or `incomplete`. */
export function replyState(message: Msg): AnswerState {
  const reason = metadataOf(message).partial ? 'other' : incompleteReason(message);
  return reason === 'other' ? 'incomplete' : (reason ?? 'complete');
}
