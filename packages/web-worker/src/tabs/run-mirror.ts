import type { AgentEvent, EventBatch } from '@isoloop/core';
import type { ShownTurn } from '../wire/shown-turn.ts';
import { packEvents, unpackEvents } from '../wire/delta-runs.ts';
import type { RunSoFar } from '../wire/tab-protocol.ts';

/**
 * The run that is under way, for who comes late and for who has to go on with it: also a run of
 * another tab.
 */
export class RunMirror {
  #events: AgentEvent[] = [];
  #run: { readonly work: string; readonly turn: ShownTurn } | undefined;

  /** The work that is under way; nothing where none is. */
  get work(): string | undefined {
    return this.#run?.work;
  }

  /** How a chat's message begins that shows it. */
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
   * Takes in what belongs to the run that is under way, and begins the next one; gives back what it
   * took.
   */
  add(batch: EventBatch, work: string, turn: ShownTurn = {}): EventBatch {
    return batch.filter((event) => this.#take(event, work, turn));
  }

  /** Takes over what another tab has of the run; gives back what was new. */
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

  /** The run that was under way is none any more. */
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
