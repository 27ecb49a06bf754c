import type { AgentEvent } from '../hook/agent-event.ts';

/** What a run has said, for readers that come late or again: adjacent deltas of a block are one entry, so it grows with the text. */
export type RunLog = LogEntry[];

interface LogEntry {
  event: AgentEvent & { readonly delta?: string };
  /** The number of each joined delta and where it ends, in turn. */
  readonly parts: number[];
}

/** Cutting a long joined text for each reader would cost its whole length each time. */
const maxJoined = 1024;

export function addToLog(log: RunLog, event: LogEntry['event']): void {
  const last = log.at(-1);
  const before = last?.event.delta;
  if (event.delta === undefined || before === undefined || before.length >= maxJoined || blockOf(last!.event) !== blockOf(event)) {
    log.push({ event, parts: [event.seq, event.delta?.length ?? 0] });
  } else {
    const delta = before + event.delta;
    last!.event = { ...event, delta };
    last!.parts.push(event.seq, delta.length);
  }
}

/** What came after the event with this number. */
export function logSince(log: RunLog, seq: number): readonly AgentEvent[] {
  const first = log.findLastIndex(({ event }) => event.seq <= seq) + 1;
  return log.slice(first).map(({ event, parts }) => {
    const seen = parts.findLastIndex((part, index) => index % 2 === 0 && part <= seq);
    return seen < 0 ? event : { ...event, delta: event.delta!.slice(parts[seen + 1]) };
  });
}

function blockOf({ type, ...fields }: LogEntry['event']): string {
  return `${type} ${'toolUseId' in fields ? fields.toolUseId : 'blockId' in fields && fields.blockId}`;
}
