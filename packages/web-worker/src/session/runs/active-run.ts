import {
  AgentError,
  type AgentErrorData,
  type AgentEvent,
  type AgentResult,
  type EventBatch,
} from '@isoloop/core';
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
  /** Id of the request that started the run. */
  readonly requestId: string;
  #start: MessageStart;
  #log: EventLog = [];
  #shorten = eventLogShortener();

  constructor(requestId: string, start: MessageStart = {}) {
    this.requestId = requestId;
    this.#start = start;
  }

  /** Beginning of the chat message that shows the run. */
  get start(): MessageStart {
    return this.#start;
  }

  get events(): EventBatch {
    return this.#log.map(({ event }) => event);
  }

  get lastEvent(): AgentEvent | undefined {
    return this.#log.at(-1)?.event;
  }

  get hasEnded(): boolean {
    const { lastEvent } = this;
    return lastEvent?.type === 'run-end' && isOwn(lastEvent);
  }

  /** The run for other tabs. */
  get state(): ActiveRunState {
    return { requestId: this.requestId, start: this.#start, items: packEvents(this.events) };
  }

  /**
   * Adds events and returns them. Leaves out a second `run-start`, which comes when another tab
   * continues the run.
   */
  add(batch: EventBatch): EventBatch {
    const events = this.#log.length ? batch.filter((event) => !isRunStart(event)) : batch;
    for (const event of events) {
      this.#log.push(toEntry(event));
      this.#log = this.#shorten(this.#log, event);
    }
    return events;
  }

  /** Replaces the events by those of another tab. Returns the events that were not known before. */
  catchUp({ start, items }: ActiveRunState): EventBatch {
    const events = unpackEvents(items);
    const bySeq = new Map(events.map((event, index) => [event.seq, index]));
    const isShared = (event: AgentEvent): boolean => {
      const sharedEvent = events[bySeq.get(event.seq) ?? -1];
      return sharedEvent !== undefined && isSameEvent(event, sharedEvent);
    };
    // Compares from the end, because each tab may have shortened the older events.
    const lastShared = this.events.findLast(isShared);
    this.#start = start;
    this.#log = events.map(toEntry);
    this.#shorten = eventLogShortener();
    return lastShared ? events.slice(bySeq.get(lastShared.seq)! + 1) : events;
  }

  /**
   * Returns the result of the run, as its events tell it. Rejects if the run failed, or if its
   * events have no end.
   */
  async result(): Promise<AgentResult> {
    let failure: AgentErrorData | undefined;
    let result: AgentResult | undefined;
    for (const event of this.events.filter(isOwn)) {
      if (event.type === 'error') failure = event.error;
      if (event.type === 'run-end') result = event.result;
    }
    if (!result) throw lostRunError('The run ended because its tab has closed.');
    if (failure) throw AgentError.fromJSON(failure);
    if (result.reason === 'error') throw lostRunError('The run failed, and its tab is gone.');
    return result;
  }
}

/** Returns whether the event starts a run of the session's agent. */
export function isRunStart(event: AgentEvent): boolean {
  return event.type === 'run-start' && isOwn(event);
}

/** Returns whether the event is of the session's agent, and not of a child agent. */
function isOwn({ agentPath }: AgentEvent): boolean {
  return agentPath.length < 2;
}

function lostRunError(message: string): AgentError {
  return new AgentError('WORKER_TERMINATED', message);
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
