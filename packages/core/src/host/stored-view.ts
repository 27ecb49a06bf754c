import type { Agent } from '../agent/agent.ts';
import type { PendingCall } from '../event/pending-call.ts';
import type { SessionView } from '../memory/log/session-view.ts';
import type { Memory } from '../memory/memory.ts';

/** Returns the view of a memory's stored log. Returns `undefined` for a memory without a log. */
export async function storedView(
  memory: Memory & { view?(): Promise<SessionView> },
): Promise<SessionView | undefined> {
  return memory.view?.();
}

/** Returns what a memory stores about the last run. A memory without a log stores nothing. */
export async function lastRun(
  memory: Memory,
): Promise<Pick<SessionView, 'openRunId' | 'endReason' | 'calls'>> {
  const view = await storedView(memory);
  return view ?? { openRunId: undefined, endReason: undefined, calls: new Map() };
}

/**
 * Returns the tool calls that wait for a decision or a result. Without an active run, reads them
 * from the log, because a new agent does not know them before its first run.
 */
export async function pendingCallsOf({
  memory,
  status,
  busy = false,
}: Pick<Agent, 'memory'> & Partial<Pick<Agent, 'status' | 'busy'>>): Promise<
  readonly PendingCall[]
> {
  let view: SessionView | undefined;
  if (!busy) view = await storedView(memory);
  const calls = view?.calls ?? status?.calls ?? new Map<string, never>();
  return [...calls.values()].flatMap(({ pending }) => pending ?? []);
}
