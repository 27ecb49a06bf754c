import type { Memory } from '@isoloop/core';
import { newMessages, storedView, type TurnRequest } from '@isoloop/core/host';

/**
 * Returns whether the turn replaces nothing in the log. Its messages are then new, and no earlier
 * run or tool call is open. Returns false for a memory without a log.
 */
export async function onlyAdds(request: TurnRequest, memory: Memory): Promise<boolean> {
  const newIds = newMessages(request).map(({ id }) => id);
  if (!newIds.length || 'afterInputId' in request) return false;
  try {
    const view = await storedView(memory);
    if (!view) return false;
    const { messages, openRunId, calls } = view;
    return (
      openRunId === undefined && !calls.size && !messages.some(({ id }) => newIds.includes(id))
    );
  } catch {
    // The turn itself reports that the log cannot be read.
    return false;
  }
}
