import { SessionMemory } from '@isoloop/core';
import type { Memory } from '@isoloop/core';

/**
 * Maximum number of messages that a session at rest keeps in memory. A smaller number would slow
 * down more sessions, because the next turn of a longer session reads the whole log.
 */
export const keptMessages = 500;

/**
 * Time at rest after which the messages are dropped, in milliseconds. Turns that follow each other
 * sooner do not read the log again. The timer delays the hibernation of a Durable Object.
 */
export const keptMs = 5_000;

/**
 * Drops the messages of a long session from memory when the session has been at rest for a while.
 * Hence a session at rest needs no more memory after more turns. The next turn reads the messages
 * from the store.
 */
export class LongMemory {
  readonly #memory: Memory;
  readonly #isBusy: () => boolean;
  #timer: number | null = null;

  /** `isBusy` returns whether a turn is running or waiting. */
  constructor(memory: Memory, isBusy: () => boolean) {
    this.#memory = memory;
    this.#isBusy = isBusy;
  }

  /** Starts the time at rest, again after each use of the memory. */
  rest(): void {
    const memory = this.#memory;
    clearTimeout(this.#timer);
    if (!(memory instanceof SessionMemory) || memory.loadedMessages <= keptMessages) return;
    this.#timer = setTimeout(() => {
      if (!this.#isBusy()) void memory.unload({ above: keptMessages });
    }, keptMs);
  }
}
