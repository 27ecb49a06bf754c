/** Lets the requests of a conversation follow each other. */
export class AnswerOrder {
  /** Settles when the answers to all messages so far have ended. */
  whenAnswered: Promise<void> = Promise.resolve();
  /** Number of messages whose answers have not ended. */
  unanswered = 0;
  /** Number of times that somebody has deleted the conversation. */
  #deletions = 0;

  get deletions(): number {
    return this.#deletions;
  }

  /**
   * Makes a request when the answers to earlier messages have ended, and `whenSettled` resolves. A
   * message that waits is dropped with its conversation, which it would bring back.
   */
  add(whenSettled: () => Promise<void>, ask: () => Promise<void>): Promise<void> {
    const deletions = this.#deletions;
    const answer = this.whenAnswered.then(async () => {
      await whenSettled();
      if (deletions === this.#deletions) await ask();
    });
    this.unanswered += 1;
    this.whenAnswered = answer.catch(() => {}).then(() => void (this.unanswered -= 1));
    return answer;
  }

  /** Drops the messages that wait, because their conversation is deleted. */
  drop(): void {
    this.#deletions += 1;
  }
}
