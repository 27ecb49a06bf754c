import { SessionMemory, type Memory } from '@isoloop/core';

/**
 * Maximum number of messages that a session at rest keeps in memory. A smaller number would slow
 * down more sessions, because the next turn of a longer session reads the whole log.
 */
export const maxIdleMessages = 500;

/**
 * Time at rest after which the messages are dropped, in milliseconds. Turns that follow each other
 * sooner do not read the log again. The timer delays the hibernation of a Durable Object.
 */
export const unloadAfterMs = 5_000;

/**
 * Returns a function that starts the time at rest. Call it after each use of the memory. At the end
 * of that time, the messages of a long session are dropped from memory, unless `isBusy` returns
 * true. Hence a session at rest needs no more memory after more turns. The next turn reads the
 * messages from the store.
 */
export function unloadWhenIdle(memory: Memory, isBusy: () => boolean): () => void {
  let timer: number | null = null;
  return () => {
    clearTimeout(timer);
    if (!(memory instanceof SessionMemory) || memory.loadedMessages <= maxIdleMessages) return;
    timer = setTimeout(() => {
      if (!isBusy()) void memory.unload({ above: maxIdleMessages });
    }, unloadAfterMs);
  };
}
