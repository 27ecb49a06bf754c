import type { AgentEvent, EventBatch } from '../hook/agent-event.ts';

/** One reader's place in a run that goes on without it: what has come since its last read, adjacent deltas of a block joined. */
export class EventFeed {
  #waiting: AgentEvent[];
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(soFar: readonly AgentEvent[] = []) {
    this.#waiting = [...soFar];
  }

  push(batch: EventBatch): void {
    for (const event of batch) pushJoined(this.#waiting, event);
    this.#notify();
  }

  end(failure?: { readonly error: unknown }): void {
    this.#ended = true;
    this.#failure = failure;
    this.#notify();
  }

  /** The next batch, or `undefined` at the end; rejects where the run did, after its last events. */
  async next(): Promise<EventBatch | undefined> {
    while (!this.#waiting.length && !this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#waiting.length) {
      const batch = this.#waiting;
      this.#waiting = [];
      return batch;
    }
    if (this.#failure) throw this.#failure.error;
    return undefined;
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

/** Appends an event; a delta that goes on where the last event left off is joined to it. */
export function pushJoined(events: AgentEvent[], event: AgentEvent): void {
  const last = events.at(-1);
  const joined = last && join(last, event);
  if (joined) events[events.length - 1] = joined;
  else events.push(event);
}

function join(last: AgentEvent, event: AgentEvent): AgentEvent | undefined {
  if (last.type === 'reasoning-chunk') return event.type === last.type && event.blockId === last.blockId ? concat(last, event) : undefined;
  if (last.type === 'summary-chunk') return event.type === last.type && event.blockId === last.blockId ? concat(last, event) : undefined;
  if (last.type === 'tool-input-chunk') return event.type === last.type && event.toolUseId === last.toolUseId ? concat(last, event) : undefined;
  return undefined;
}

function concat<E extends AgentEvent & { readonly delta: string }>(last: E, event: AgentEvent & { readonly delta: string }): E {
  return { ...last, seq: event.seq, at: event.at, delta: last.delta + event.delta };
}
