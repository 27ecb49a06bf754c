import { countMessage, countTools } from '../../tokens/count-message.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { ContextRequest } from '../../loop/context-policy.ts';
import { MessageSums } from './message-sums.ts';

/**
 * Tokens of a whole request. Each gives what requests that grow one from the other cost: only what
 * is new is looked at.
 */
export function requestCounter(profile: TokenProfile): (request: ContextRequest) => number {
  const sums = new MessageSums(profile);
  return (request) => sums.of(request.messages).at(-1)! + countAround(request, profile);
}

/** Tokens of what is no message of the request. */
export function countAround({ tools, beside }: ContextRequest, profile: TokenProfile): number {
  return (
    (profile.perRequest ?? 0) +
    countTools(tools, profile) +
    (beside ? countMessage(beside, profile) : 0)
  );
}
