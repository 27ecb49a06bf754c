import type { AgentEvent, EventBatch } from '@isoloop/core';

type DeltaEvent = Extract<AgentEvent, { readonly delta: string }>;

/**
 * Consecutive delta events in the form that is sent to a page or tab. It has the whole first event
 * and only the text of the others, because cloning every event takes longer than creating it.
 */
interface JoinedDeltas {
  readonly first: DeltaEvent;
  readonly deltas: string[];
}

/** Event in the form that is sent to a page or another tab. */
export type WireEvent = Exclude<AgentEvent, DeltaEvent> | JoinedDeltas;

/** Converts events for sending. Joins consecutive deltas that differ only in `seq` and text. */
export function packEvents(events: EventBatch): readonly WireEvent[] {
  const packed: WireEvent[] = [];
  let joinedDeltas: JoinedDeltas | undefined;
  for (const event of events) {
    if (!('delta' in event)) {
      joinedDeltas = undefined;
      packed.push(event);
    } else if (joinedDeltas && continues(joinedDeltas, event)) {
      joinedDeltas.deltas.push(event.delta);
    } else {
      joinedDeltas = { first: event, deltas: [] };
      packed.push(joinedDeltas);
    }
  }
  return packed;
}

/** Converts received items back to events. */
export function unpackEvents(packed: readonly WireEvent[]): AgentEvent[] {
  return packed.flatMap((item): AgentEvent | AgentEvent[] => {
    if (!('first' in item)) return item;
    const { first, deltas } = item;
    const laterEvents = deltas.map((delta, index) => ({
      ...first,
      seq: first.seq + index + 1,
      delta,
    }));
    return [first, ...laterEvents];
  });
}

/**
 * Returns whether the event differs from the first event only in `seq` and `delta`. The run, the
 * session and the agents are not compared, because they are the same for all events of a port.
 */
function continues({ first, deltas }: JoinedDeltas, event: DeltaEvent): boolean {
  return (
    event.seq === first.seq + deltas.length + 1 &&
    event.at === first.at &&
    event.iteration === first.iteration &&
    event.type === first.type &&
    sourceIdOf(event) === sourceIdOf(first)
  );
}

function sourceIdOf(event: DeltaEvent): string {
  return event.type === 'tool-input-chunk' ? event.toolUseId : event.blockId;
}
