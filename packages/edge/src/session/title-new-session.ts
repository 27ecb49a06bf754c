import type { ReActAgent } from '@isoloop/core';
import { logMemoryOf, storeTitle } from '@isoloop/core/host';

/**
 * Lets the first message of a new session become its title. `onTitle` is called when the title is
 * set. Call it before the run, because the run writes the log.
 */
export async function titleNewSession(agent: ReActAgent, onTitle?: () => void): Promise<void> {
  const log = logMemoryOf(agent.memory);
  // A log knows its version once it was read. The turn may not have read it.
  await log?.read();
  if (log?.sessionVersion === 0) storeTitle(agent, onTitle);
}
