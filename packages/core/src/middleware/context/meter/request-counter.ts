import type { Msg } from '../../../message/msg.ts';
import { countMessage, countTools } from '../../../tokens/count-message.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';
import type { ContextRequest } from '../context-policy.ts';

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

/**
 * Running totals of the tokens of a message list. If a list begins like the previous list, the
 * shared messages are not counted again.
 */
export class MessageSums {
  readonly #profile: TokenProfile;
  readonly #messages: Msg[] = [];
  readonly #sums: number[] = [0];

  constructor(profile: TokenProfile) {
    this.#profile = profile;
  }

  /**
   * Returns the running totals: `sums[i]` is the number of tokens of the first `i` messages. The
   * array is valid until `of()` is called again.
   */
  of(messages: readonly Msg[]): readonly number[] {
    const known = this.#messages;
    const sums = this.#sums;
    let same = 0;
    while (same < known.length && same < messages.length && known[same] === messages[same]) same++;
    known.length = same;
    sums.length = same + 1;
    for (let i = same; i < messages.length; i++) {
      const message = messages[i]!;
      known.push(message);
      sums.push(sums[i]! + countMessage(message, this.#profile));
    }
    return sums;
  }
}
