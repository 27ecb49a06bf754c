import type { AnswerBatches } from '@isoloop/core/host';
import { AnswerChannel } from './answer-channel.ts';
import type { ReleaseLock } from './held-lock.ts';
import { SharedReading, type OpenedAnswer } from './shared-reading.ts';

/** Asks the endpoint for the running answer. Returns `undefined` if there is none. */
type Ask = () => Promise<OpenedAnswer | undefined>;

/**
 * Reads the answers of a conversation at an endpoint once for all tabs of the user. A page loads
 * this when an answer names the user.
 */
export class SharedAnswers {
  readonly channel: AnswerChannel;

  /** `name`: name that only tabs of this user know. `onAnswer`: see the channel. */
  constructor(name: string, onAnswer: () => void) {
    this.channel = new AnswerChannel({ name, onAnswer });
  }

  /** Reads an answer, and shares it. `release` returns the lock of the reader. */
  read(opened: OpenedAnswer, release?: ReleaseLock): AnswerBatches {
    return new SharedReading(this.channel, opened, release).pass();
  }

  /**
   * Returns the running answer, which another tab may read. `opened`: the answer, if the endpoint
   * has sent it already.
   */
  async connect(
    signal: AbortSignal,
    ask: Ask,
    opened?: OpenedAnswer,
  ): Promise<AnswerBatches | undefined> {
    let isUsed = false;
    const batches = await this.channel.connect(signal, async (release) => {
      isUsed = true;
      try {
        let answer = opened;
        answer ??= await ask();
        if (answer) return this.read(answer, release);
      } catch (error) {
        release?.();
        throw error;
      }
      release?.();
      return undefined;
    });
    if (!isUsed) opened?.connection.abort();
    return batches;
  }
}
