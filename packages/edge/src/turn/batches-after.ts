import { attach } from '@isoloop/core/adapter';
import type { AgentEvent, EventBatch, ReActAgent } from '@isoloop/core';

export interface BatchesAfterOptions {
  readonly runId: string;
  /** Number of the last event that the reader has seen. */
  readonly after: number;
  /** Feeds the encoder the events that the reader has already seen. */
  readonly prime: (batch: EventBatch) => unknown;
}

/** Yields the batches of a detached run after an event, and then those that follow. */
export async function* batchesAfter(
  agent: ReActAgent,
  { runId, after, prime }: BatchesAfterOptions,
): AsyncGenerator<EventBatch> {
  const rest = attach(agent, { runId, afterSeq: after })?.batches();
  const all = attach(agent, { runId })?.batches();
  if (!rest || !all) return;
  // Both reads start in one tick, so they see the same events.
  const [reading, told] = [rest.next(), (await all.next()).value ?? []];
  await all.return(undefined);
  prime(told.filter(({ seq }) => seq <= after));
  const straddling = told.find(({ seq }) => seq > after);
  const first = await reading;
  if (first.done) return;
  const [next] = first.value;
  // The reader has seen part of a joined delta. The encoder must know that its block has begun.
  if (next && straddling?.seq === next.seq && deltaOf(straddling).length > deltaOf(next).length)
    prime([{ ...next, delta: '' } as AgentEvent]);
  yield first.value;
  yield* rest;
}

function deltaOf(event: AgentEvent): string {
  return 'delta' in event ? event.delta : '';
}
