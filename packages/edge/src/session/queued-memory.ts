import { SessionMemory, type Memory } from '@isoloop/core';

type Append = Parameters<Memory['append']>;

/**
 * Memory of a session whose queue stores the input of the running turn. The log gets this input
 * with its next write, which saves a write. If the isolate dies before that, the turn is taken from
 * the queue again.
 */
export class QueuedMemory extends SessionMemory {
  #queuedIds: ReadonlySet<string> = new Set();

  /** Sets the ids of the messages that the queue stores. */
  setQueued(ids: readonly string[]): void {
    this.#queuedIds = new Set(ids);
  }

  override append(...[messages, options]: Append): Promise<void> {
    const isQueued = messages.length > 0 && messages.every(({ id }) => this.#queuedIds.has(id));
    return super.append(messages, isQueued ? { later: true } : options);
  }
}
