import { attach } from '@isoloop/core/event';
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
  const laterBatches = attach(agent, { runId, afterSeq: seenSeq })?.batches();
  const allBatches = attach(agent, { runId })?.batches();
  if (!laterBatches || !allBatches) return;
  // Both reads start in the same tick, so they return the same events.
  const [firstRead, events] = [laterBatches.next(), (await allBatches.next()).value ?? []];
  await allBatches.return(undefined);
  prime(events.filter(({ seq }) => seq <= seenSeq));
  const newEvent = events.find(({ seq }) => seq > seenSeq);
  const firstBatch = await firstRead;
  if (firstBatch.done) return;
  const [firstEvent] = firstBatch.value;
  // `next` may be the rest of a delta whose beginning the reader has seen. The encoder then needs
  // to know that the block of this delta has begun.
  if (
    firstEvent &&
    newEvent?.seq === firstEvent.seq &&
    deltaOf(newEvent).length > deltaOf(firstEvent).length
  )
    prime([{ ...firstEvent, delta: '' } as AgentEvent]);
  yield firstBatch.value;
  yield* laterBatches;
}

function deltaOf(event: AgentEvent): string {
  return 'delta' in event ? event.delta : '';
}
