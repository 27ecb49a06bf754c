import type { AgentEvent, EventBatch } from '@isoloop/core';

type DeltaEvent = Extract<AgentEvent, { readonly delta: string }>;

/**
 * Consecutive deltas on the wire: the first event whole, and only the new text of the others.
 * Cloning every event whole takes longer than the agent needs to make them.
 */
interface DeltaRun {
  readonly first: DeltaEvent;
  readonly deltas: string[];
}

/** An event on the wire. */
export type WireEvent = Exclude<AgentEvent, DeltaEvent> | DeltaRun;

export function packEvents(events: EventBatch): readonly WireEvent[] {
  const packed: WireEvent[] = [];
  let run: DeltaRun | undefined;
  for (const event of events) {
    if (!('delta' in event)) {
      run = undefined;
      packed.push(event);
    } else if (run && continues(run, event)) {
      run.deltas.push(event.delta);
    } else {
      run = { first: event, deltas: [] };
      packed.push(run);
    }
  }
  return packed;
}

/** Returns the original events. Other items, such as a chat's chunks, stay as they are. */
export function unpackEvents<T = AgentEvent>(packed: readonly (WireEvent | T)[]): T[] {
  const events: unknown[] = [];
  for (const item of packed) {
    const { first, deltas } = item as DeltaRun;
    events.push(first ?? item);
    let seq = first?.seq;
    if (first) for (const delta of deltas) events.push({ ...first, seq: ++seq, delta });
  }
  return events as T[];
}

/**
 * Returns whether the event differs from the run's first one only in `seq` and `delta`. Run,
 * session and agents need no check: they are the same within one port.
 */
function continues({ first, deltas }: DeltaRun, event: DeltaEvent): boolean {
  return (
    event.seq === first.seq + deltas.length + 1 &&
    event.at === first.at &&
    event.iteration === first.iteration &&
    event.type === first.type &&
    source(event) === source(first)
  );
}

function source(event: DeltaEvent): string {
  return event.type === 'tool-input-chunk' ? event.toolUseId : event.blockId;
}
