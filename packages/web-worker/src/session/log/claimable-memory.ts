import type { LogMemory } from '@isoloop/core/memory';
import { logMemoryOf } from '@isoloop/core/host';
import { AgentError, type Memory, type SessionMemory } from '@isoloop/core';

/**
 * Memory with a log that one worker claims, and from which another tab can continue a run:
 * `SessionMemory`, or a wrapper of it.
 */
export type ClaimableMemory = LogMemory & Pick<SessionMemory, 'claim' | 'release' | 'view'>;

/**
 * Makes this worker the only writer of the memory's log. Returns `undefined` if the memory is not a
 * `ClaimableMemory`, or if its store does not support this.
 */
export async function claimMemory(
  memory: Memory,
  write: boolean,
): Promise<ClaimableMemory | undefined> {
  const log = logMemoryOf(memory) as Partial<ClaimableMemory> | undefined;
  if (!log?.claim || !log.release || !log.view) return undefined;
  try {
    await log.claim({ write });
    return log as ClaimableMemory;
  } catch (error) {
    if (AgentError.is(error) && error.code === 'CONFIGURATION') return undefined;
    throw error;
  }
}

/**
 * Returns the memory for claims before each run, because no lock decides which tab writes. Returns
 * `undefined` if other tabs do not have this memory. Throws `CONFIGURATION` if the memory's store
 * cannot refuse a second writer.
 */
export function claimableMemory(memory: Memory): ClaimableMemory | undefined {
  const { claim, features } = memory as Partial<SessionMemory>;
  if (!claim) return undefined;
  if (features?.compareAndSet !== false) return memory as ClaimableMemory;
  const message =
    'The browser refuses Web Locks, and the store has no compareAndSet. Tabs could overwrite each other.';
  throw new AgentError('CONFIGURATION', message);
}
