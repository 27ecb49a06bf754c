import type { Msg } from '../../../message/msg.ts';
import { countMessage } from '../../../tokens/count-message.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';

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
