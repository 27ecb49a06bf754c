import type { AgentEvent, EventBatch } from '@isoloop/core';
import { eventLogShortener, type EventLogEntry, type EventLog } from '@isoloop/core/host';
import type { MessageStart } from '../../wire/protocol.ts';
import { packEvents, unpackEvents } from '../../wire/wire-events.ts';
import type { ActiveRunState } from '../../wire/tab-protocol.ts';

/**
 * Copy of the events of the active run, in this or another tab. Readers that join later get these
 * events, and a new leader continues after them. A long run keeps only what `eventLogShortener`
 * keeps.
 */
export class ActiveRun {
  #log: EventLog = [];
  #shorten = eventLogShortener();
  #run: { readonly requestId: string; readonly start: MessageStart } | undefined;

  /** Id of the request that started the active run. `undefined` if no run is active. */
  get requestId(): string | undefined {
    return this.#run?.requestId;
  }

  /** Beginning of the chat message that shows the run. */
  get start(): MessageStart {
    return this.#run?.start ?? {};
  }

  get events(): EventBatch {
    return this.#log.map(({ event }) => event);
  }

  /** Newest event of the active run. */
  get lastEvent(): AgentEvent | undefined {
    return this.#log.at(-1)?.event;
  }

  get state(): ActiveRunState | undefined {
    return this.#run && { ...this.#run, items: packEvents(this.events) };
  }

  /**
   * Adds the events of the active run. If no run is active, a `run-start` begins the next one.
   * Returns the added events.
   */
  add(batch: EventBatch, requestId: string, start: MessageStart = {}): EventBatch {
    return batch.filter((event) => this.#addEvent(event, requestId, start));
  }

  /** Replaces the events by those of another tab. Returns the events that were not known before. */
  catchUp({ requestId, start, items }: ActiveRunState): EventBatch {
    const events = unpackEvents(items);
    const knownEvents = this.requestId === requestId ? this.events : [];
    const bySeq = new Map(events.map((event, index) => [event.seq, index]));
    const isShared = (event: AgentEvent): boolean => {
      const sharedEvent = events[bySeq.get(event.seq) ?? -1];
      return sharedEvent !== undefined && isSameEvent(event, sharedEvent);
    };
    // Compares from the end, because each tab may have shortened the older events.
    const lastShared = knownEvents.findLast(isShared);
    this.#run = { requestId, start };
    this.#setLog(events.map(toEntry));
    return lastShared ? events.slice(bySeq.get(lastShared.seq)! + 1) : events;
  }

  /** Removes the active run. */
  clear(): void {
    this.#setLog([]);
    this.#run = undefined;
  }

  #setLog(log: EventLog): void {
    this.#log = log;
    this.#shorten = eventLogShortener();
  }

  #addEvent(event: AgentEvent, requestId: string, start: MessageStart): boolean {
    const isOwn = event.agentPath.length < 2;
    const isStart = isOwn && event.type === 'run-start';
    if (this.#run ? requestId !== this.#run.requestId || isStart : !isStart) return false;
    this.#run ??= { requestId, start };
    this.#log.push(toEntry(event));
    this.#log = this.#shorten(this.#log, event);
    if (isOwn && event.type === 'run-end') this.clear();
    return true;
  }
}

/** Returns the event as an entry of its own, because late readers get the deltas unjoined. */
function toEntry(event: AgentEvent): EventLogEntry {
  return { event, ends: [] };
}

function isSameEvent(one: AgentEvent, other: AgentEvent): boolean {
  return (
    one.seq === other.seq &&
    one.type === other.type &&
    one.runId === other.runId &&
    one.at === other.at
  );
}
