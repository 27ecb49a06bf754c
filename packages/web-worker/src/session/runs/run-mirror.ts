import type { AgentEvent, EventBatch } from '@isoloop/core';
import type { ShownTurn } from '../../wire/shown-turn.ts';
import { packEvents, unpackEvents } from '../../wire/delta-runs.ts';
import type { RunSoFar } from '../../wire/tab-protocol.ts';

/**
 * Copy of the events of the active run, in this or another tab. Readers that join later get these
 * events, and a new leader continues after them.
 */
export class RunMirror {
  #events: AgentEvent[] = [];
  #run: { readonly work: string; readonly turn: ShownTurn } | undefined;

  /** Id of the request that started the active run. `undefined` if no run is active. */
  get work(): string | undefined {
    return this.#run?.work;
  }

  /** Beginning of the chat message that shows the run. */
  get turn(): ShownTurn {
    return this.#run?.turn ?? {};
  }

  get events(): EventBatch {
    return this.#events;
  }

  get soFar(): RunSoFar | undefined {
    return this.#run && { ...this.#run, items: packEvents(this.#events) };
  }

  /**
   * Adds the events of the active run. If no run is active, a `run-start` begins the next one.
   * Returns the added events. `work`: id of the request to which the events belong.
   */
  add(batch: EventBatch, work: string, turn: ShownTurn = {}): EventBatch {
    return batch.filter((event) => this.#take(event, work, turn));
  }

  /** Replaces the events by those of another tab. Returns the events that were not known before. */
  catchUp({ work, turn, items }: RunSoFar): EventBatch {
    const events = unpackEvents<AgentEvent>(items);
    const known = this.work === work ? this.#events : [];
    let same = 0;
    while (same < known.length && same < events.length && isSameEvent(known[same]!, events[same]!))
      same += 1;
    this.#run = { work, turn };
    this.#events = [...events];
    return events.slice(same);
  }

  /** Removes the active run. */
  forget(): void {
    this.#events = [];
    this.#run = undefined;
  }

  #take(event: AgentEvent, work: string, turn: ShownTurn): boolean {
    const own = event.agentPath.length < 2;
    const begins = own && event.type === 'run-start';
    if (this.#run ? work !== this.#run.work || begins : !begins) return false;
    this.#run ??= { work, turn };
    this.#events.push(event);
    if (own && event.type === 'run-end') this.forget();
    return true;
  }
}

function isSameEvent(one: AgentEvent, other: AgentEvent): boolean {
  return (
    one.seq === other.seq &&
    one.type === other.type &&
    one.runId === other.runId &&
    one.at === other.at
  );
}
