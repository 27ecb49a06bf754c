import { attach } from '@isoloop/core/adapter';
import type { AgentEvent, EventBatch, ReActAgent } from '@isoloop/core';

export interface BatchesAfterOptions {
  readonly runId: string;
  /** Number (`seq`) of the last event that the reader has seen. */
  readonly seenSeq: number;
  /**
   * Function that gets the events that the reader has already seen. The reader's encoder needs them
   * to continue correctly.
   */
  readonly prime: (batch: EventBatch) => unknown;
}

/**
 * Yields the batches of events of a detached run that come after a given event, including future
 * batches.
 */
export async function* batchesAfter(
  agent: ReActAgent,
  { runId, seenSeq, prime }: BatchesAfterOptions,
): AsyncGenerator<EventBatch> {
  const rest = attach(agent, { runId, afterSeq: seenSeq })?.batches();
  const all = attach(agent, { runId })?.batches();
  if (!rest || !all) return;
  // Both reads start in the same tick, so they return the same events.
  const [firstRead, events] = [rest.next(), (await all.next()).value ?? []];
  await all.return(undefined);
  prime(events.filter(({ seq }) => seq <= seenSeq));
  const newEvent = events.find(({ seq }) => seq > seenSeq);
  const first = await firstRead;
  if (first.done) return;
  const [next] = first.value;
  // `next` may be the rest of a delta whose beginning the reader has seen. The encoder then needs
  // to know that the block of this delta has begun.
  if (next && newEvent?.seq === next.seq && deltaOf(newEvent).length > deltaOf(next).length)
    prime([{ ...next, delta: '' } as AgentEvent]);
  yield first.value;
  yield* rest;
}

function deltaOf(event: AgentEvent): string {
  return 'delta' in event ? event.delta : '';
}
