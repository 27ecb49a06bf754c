import type { AgentEvent, EventBatch } from '@isoloop/core';
import type { ShownTurn } from '../../wire/shown-turn.ts';
import { packEvents, unpackEvents } from '../../wire/delta-runs.ts';
import type { RunSoFar } from '../../wire/tab-protocol.ts';

/**
 * A copy of the active run, of this or another tab. Late readers read it, and a new leader
 * continues from it.
 */
export class RunMirror {
  #events: AgentEvent[] = [];
  #run: { readonly work: string; readonly turn: ShownTurn } | undefined;

  /** Id of the active request; `undefined` if there is none. */
  get work(): string | undefined {
    return this.#run?.work;
  }

  /** Start of the chat message that shows the run. */
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
   * Adds the events that belong to the active run, or starts the next run. Returns the added
   * events.
   */
  add(batch: EventBatch, work: string, turn: ShownTurn = {}): EventBatch {
    return batch.filter((event) => this.#take(event, work, turn));
  }

  /** Adds another tab's events of the run. Returns the new ones. */
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

  /** Forgets the active run. */
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
