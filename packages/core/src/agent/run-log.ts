import type { AgentEvent } from '../hook/agent-event.ts';
import type { Writable } from '../message/writable.ts';

type DeltaEvent = Extract<AgentEvent, { readonly delta: string }>;

/** An event, or adjacent deltas of one block as one: `parts` tells a later reader where each of them ended. */
interface Entry {
  event: AgentEvent;
  readonly parts?: { readonly seq: number; readonly end: number }[];
}

/** Cutting a long joined text for each reader would cost its whole length each time. */
const maxJoined = 1024;

/** What a run has said, for readers that come late or again: deltas are joined, so that it grows with the text and not with their number. */
export class RunLog {
  readonly #entries: Entry[] = [];

  add(event: AgentEvent): void {
    const last = this.#entries.at(-1);
    if (!isDelta(event)) return void this.#entries.push({ event });
    const before = last?.event;
    if (!before || !isDelta(before) || blockOf(before) !== blockOf(event) || before.delta.length >= maxJoined) {
      this.#entries.push({ event, parts: [{ seq: event.seq, end: event.delta.length }] });
      return;
    }
    const delta = before.delta + event.delta;
    last.event = { ...event, delta };
    last.parts!.push({ seq: event.seq, end: delta.length });
  }

  /** What came after the event with this number. */
  since(seq: number): readonly AgentEvent[] {
    const first = this.#entries.findLastIndex(({ event }) => event.seq <= seq) + 1;
    return this.#entries.slice(first).map(({ event, parts }, index) => {
      const seen = index === 0 ? parts?.findLast((part) => part.seq <= seq) : undefined;
      return seen && isDelta(event) ? ({ ...event, delta: event.delta.slice(seen.end) } as Writable<DeltaEvent>) : event;
    });
  }
}

function isDelta(event: AgentEvent): event is DeltaEvent {
  return 'delta' in event;
}

function blockOf(event: DeltaEvent): string {
  return event.type + (event.type === 'tool-input-chunk' ? event.toolUseId : event.blockId);
}
