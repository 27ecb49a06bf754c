import type { AgentEvent, EventOf } from '../agent-event.ts';

/**
 * Events of a run, for readers that start late. Adjacent deltas of a block share one entry, so the
 * size depends on the text, not on the number of deltas.
 */
export type EventLog = EventLogEntry[];

/** One event in the log of a run, into which later chunks of the same block are joined. */
export interface EventLogEntry {
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

/** Function that returns the log to keep, after `event` was added as its last event. */
export type ShortenEventLog = (log: EventLog, event: AgentEvent) => EventLog;

type ReplyEvent = EventOf<'post-reasoning'> | EventOf<'post-summary'>;

/**
 * Maximum length of a joined text, in characters. Late readers slice this text, and long texts take
 * longer.
 */
const maxJoinedLength = 1024;

export function addEvent(log: EventLog, event: EventLogEntry['event']): void {
  const last = log.at(-1);
  const previous = last?.event.delta;
  if (
    previous === undefined ||
    previous.length >= maxJoinedLength ||
    !isNextDelta(last!.event, event)
  ) {
    log.push({ event, ends: [event.delta?.length ?? 0] });
  } else {
    const delta = previous + event.delta;
    last!.event = { ...event, delta };
    last!.ends.push(delta.length);
  }
}

/** Returns the events after the sequence number `seq`. */
export function eventsSince(log: EventLog, seq: number): readonly AgentEvent[] {
  const start = log.findLastIndex(({ event }) => event.seq <= seq) + 1;
  return log.slice(start).map(({ event, ends }) => {
    const readLength = ends.at(seq - event.seq - 1);
    return readLength ? { ...event, delta: event.delta!.slice(readLength) } : event;
  });
}

/** Returns whether an event is the next delta of the same block. */
function isNextDelta(last: EventLogEntry['event'], event: EventLogEntry['event']): boolean {
  return (
    last.type === event.type &&
    last.seq === event.seq - 1 &&
    last.toolUseId === event.toolUseId &&
    last.blockId === event.blockId
  );
}

/** Growth after which the log is shortened, in characters. */
const maxGrowthLength = 4_000_000;
/** Number of characters that one message of a model request counts. */
const messageCost = 8;
/** Number of characters that one entry counts, because small events take memory, too. */
const entryCost = 100;

/**
 * Creates the function that keeps the log of one run short. Without it, a run that nobody reads
 * could use up the memory.
 */
export function eventLogShortener(): ShortenEventLog {
  let growth = 0;
  return (log, event) => {
    growth += costOf(event);
    // A delta that was joined has no entry of its own.
    if (log.at(-1)?.event === event) growth += entryCost;
    if (growth <= maxGrowthLength) return log;
    growth = 0;
    return shortenLog(log);
  };
}

function costOf(event: EventLogEntry['event']): number {
  if (event.type === 'acting-chunk') return JSON.stringify(event.chunk).length;
  if (event.type === 'pre-reasoning') return event.messages.length * messageCost;
  return event.delta?.length ?? 0;
}

/**
 * Returns a shorter log for late readers. Replaces the deltas of each finished reply with one
 * `step-reset` that contains the whole reply. Removes messages and tools from the model requests of
 * finished replies. Drops the older half of the progress of tools.
 */
function shortenLog(log: EventLog): EventLog {
  const entries: EventLog = [];
  /** The event with each finished reply, by the run and the iteration. */
  const replies = new Map<string, ReplyEvent>();
  const progress = log.filter(({ event }) => event.type === 'acting-chunk');
  const newest = progress[progress.length >> 1]?.event.seq ?? 0;
  for (const entry of log.toReversed()) {
    const { event } = entry;
    const key = `${event.runId} ${event.iteration}`;
    const reply = replies.get(key);
    if (event.type === 'post-reasoning' || event.type === 'post-summary') replies.set(key, event);
    if (event.type === 'acting-chunk' && event.seq < newest) continue;
    if (event.type === 'pre-reasoning' && reply)
      entries.push({ ...entry, event: { ...event, messages: [], tools: [] } });
    else if (!isPiece(event) || !reply) entries.push(entry);
    else if (!isResetTo(reply, entries.at(-1)))
      entries.push({ event: resetTo(reply, event), ends: [0] });
  }
  return entries.toReversed();
}

/** Returns whether the finished reply repeats what the event says. */
function isPiece({ type, delta }: EventLogEntry['event']): boolean {
  return delta !== undefined || type === 'hosted-tool-chunk';
}

function isResetTo({ message }: ReplyEvent, next: EventLogEntry | undefined): boolean {
  return next?.event.type === 'step-reset' && next.event.replacement === message;
}

function resetTo(reply: ReplyEvent, { seq, at }: AgentEvent): AgentEvent {
  const { message: replacement, ...fields } = reply;
  return { ...fields, seq, at, type: 'step-reset', reason: 'shortened', replacement };
}
