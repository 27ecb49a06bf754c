import type { AgentEvent } from '../../event/agent-event.ts';

/**
 * Events of a run, for readers that start late. Adjacent deltas of a block share one entry, so the
 * size depends on the text, not on the number of deltas.
 */
export type RunLog = LogEntry[];

export interface LogEntry {
  event: AgentEvent & {
    readonly delta?: string;
    readonly toolUseId?: string;
    readonly blockId?: string;
  };
  /**
   * End position of each delta in the joined text. The last delta has the event's `seq`. Each
   * earlier delta has a `seq` that is lower by 1.
   */
  readonly ends: number[];
}

/**
 * Maximum length of a joined text, in characters. Late readers slice this text, and long texts take
 * longer.
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

/** Returns the events after the sequence number `seq`. */
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
