import { changeOwner, endedCallsOf, withEndedCalls, type ChooseOwner } from '@isoloop/core/move';
import { DurableStore } from '../durable/durable-store.ts';

/** Key of the names of a deleted session's tool calls. Its messages and arguments are gone. */
const keptKey = 'endedCalls';

/**
 * Reads the names of a session's ended tool calls, before the session is deleted. Returns a
 * function that stores them after the deletion. A signed copy from before a tool call then cannot
 * run its tool again. Stores nothing for a session without tool calls.
 */
export async function keepEndedCalls(
  storage: DurableObjectStorage,
  sessionId: string,
): Promise<() => void> {
  let names = keptCalls(storage);
  const read: ChooseOwner = ({ view }) => {
    names = [...new Set([...names, ...endedCallsOf(view)])];
    return undefined;
  };
  // A session with damaged records can be deleted, too.
  await changeOwner(new DurableStore(storage), sessionId, read).catch(() => {});
  return () => {
    if (names.length) storage.kv.put(keptKey, names);
  };
}

/** Works like `changeOwner`. Adds the ended tool calls of deleted sessions with the same id. */
export function changeOwnerWithKeptCalls(
  storage: DurableObjectStorage,
  sessionId: string,
  choose: ChooseOwner,
): Promise<void> {
  const names = keptCalls(storage);
  return changeOwner(new DurableStore(storage), sessionId, (session) =>
    choose(names.length ? { ...session, view: withEndedCalls(session.view, names) } : session),
  );
}

function keptCalls(storage: DurableObjectStorage): readonly string[] {
  return storage.kv.get<readonly string[]>(keptKey) ?? [];
}
