import { attach } from '@isoloop/core/adapter';
import type { AgentEvent, EventBatch, ReActAgent } from '@isoloop/core';

export interface BatchesAfterOptions {
  readonly runId: string;
  /** The last event that the reader has seen. */
  readonly after: number;
  /** Takes in what the reader has seen already: an encoder has to know it. */
  readonly prime: (batch: EventBatch) => unknown;
}

/** What a detached run said after an event, and goes on to say. */
export async function* batchesAfter(
  agent: ReActAgent,
  { runId, after, prime }: BatchesAfterOptions,
): AsyncGenerator<EventBatch> {
  const rest = attach(agent, { runId, afterSeq: after })?.batches();
  const all = attach(agent, { runId })?.batches();
  if (!rest || !all) return;
  // In one tick: both read the same.
  const [reading, told] = [rest.next(), (await all.next()).value ?? []];
  await all.return(undefined);
  prime(told.filter(({ seq }) => seq <= after));
  const straddling = told.find(({ seq }) => seq > after);
  const first = await reading;
  if (first.done) return;
  const [next] = first.value;
  // Of joined deltas the reader has seen some: the encoder has to know that their block has begun.
  if (next && straddling?.seq === next.seq && deltaOf(straddling).length > deltaOf(next).length)
    prime([{ ...next, delta: '' } as AgentEvent]);
  yield first.value;
  yield* rest;
}

function deltaOf(event: AgentEvent): string {
  return 'delta' in event ? event.delta : '';
}
