import { countMessage, countTools } from '../../../tokens/count-message.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';
import type { ContextRequest } from '../context-policy.ts';
import { MessageSums } from './message-sums.ts';

/**
 * Makes a function that counts the tokens of a whole request. If a request extends the previous
 * one, only the new messages are counted.
 */
export function requestCounter(profile: TokenProfile): (request: ContextRequest) => number {
  const sums = new MessageSums(profile);
  return (request) => sums.of(request.messages).at(-1)! + countAround(request, profile);
}

/** Counts the tokens of a request, except those of its messages. */
export function countAround({ tools, beside }: ContextRequest, profile: TokenProfile): number {
  return (
    (profile.perRequest ?? 0) +
    countTools(tools, profile) +
    (beside ? countMessage(beside, profile) : 0)
  );
}
