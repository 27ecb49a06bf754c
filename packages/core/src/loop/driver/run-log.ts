import type { AgentEvent } from '../../event/agent-event.ts';

/**
 * A run's events for late readers. Adjacent deltas of a block share one entry, so the log grows
 * with the text only.
 */
export type RunLog = LogEntry[];

interface LogEntry {
  event: AgentEvent & {
    readonly delta?: string;
    readonly toolUseId?: string;
    readonly blockId?: string;
  };
  /** End of each joined delta in the text. Their sequence numbers run up to the event's. */
  readonly ends: number[];
}

/**
 * Longest joined text, in characters: each late reader slices it, which takes time by its length.
 */
const maxJoined = 1024;

export function addToLog(log: RunLog, event: LogEntry['event']): void {
  const last = log.at(-1);
  const before = last?.event.delta;
  if (before === undefined || before.length >= maxJoined || !goesOn(last!.event, event)) {
    log.push({ event, ends: [event.delta?.length ?? 0] });
  } else {
    const delta = before + event.delta;
    last!.event = { ...event, delta };
    last!.ends.push(delta.length);
  }
}

/** Returns the events after this sequence number. */
export function logSince(log: RunLog, seq: number): readonly AgentEvent[] {
  const first = log.findLastIndex(({ event }) => event.seq <= seq) + 1;
  return log.slice(first).map(({ event, ends }) => {
    const seen = ends.at(seq - event.seq - 1);
    return seen ? { ...event, delta: event.delta!.slice(seen) } : event;
  });
}

function goesOn(
  last: LogEntry['event'],
  { type, seq, toolUseId, blockId }: LogEntry['event'],
): boolean {
  return (
    last.type === type &&
    last.seq === seq - 1 &&
    last.toolUseId === toolUseId &&
    last.blockId === blockId
  );
}
