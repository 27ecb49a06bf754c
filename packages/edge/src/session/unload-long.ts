import { SessionMemory } from '@isoloop/core';
import type { Memory } from '@isoloop/core';

/**
 * Maximum number of messages that a session without a running turn keeps in memory. A smaller
 * number would slow down more sessions, because each turn of a longer session reads the whole log.
 */
export const keptMessages = 500;

/**
 * Drops the messages of a long session from memory, so that a session at rest needs no more memory
 * after more turns. The next turn reads them from the store.
 */
export async function unloadLong(memory: Memory): Promise<void> {
  if (memory instanceof SessionMemory) await memory.unload({ above: keptMessages });
}
