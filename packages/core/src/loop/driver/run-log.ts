import type { AgentEvent } from '../../event/agent-event.ts';

/**
 * What a run has said, for readers that come late or again: adjacent deltas of a block are one
 * entry, so it grows with the text.
 */
export type RunLog = LogEntry[];

interface LogEntry {
  event: AgentEvent & {
    readonly delta?: string;
    readonly toolUseId?: string;
    readonly blockId?: string;
  };
  /** Where each joined delta ends; their numbers are the ones up to the event's. */
  readonly ends: number[];
}

/** Cutting a long joined text for each reader would cost its whole length each time. */
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

/** What came after the event with this number. */
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
