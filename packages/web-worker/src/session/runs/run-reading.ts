import type { EventBatch } from '@isoloop/core';
import type { MessageStart } from '../../wire/protocol.ts';
import type { JoinedResult } from './joined-result.ts';

/** Reader of a run's events. `serveSession` creates one for the port of a page. */
export interface RunReader {
  /** Called once, before the first events. */
  begin(start: MessageStart): void;
  add(events: EventBatch): void;
  /** Whether the reader can take another batch now. */
  readonly isReady: boolean;
  /** Resolves when the reader can take another batch. Rejects if a batch could not be sent. */
  ready(): Promise<void>;
  /** Callback for a batch that could not be sent. Whoever passes events to the reader sets it. */
  onFailure: (() => void) | undefined;
}

export interface RunReadingOptions {
  /** Id of the request for the run. */
  readonly requestId: string;
  readonly reader: RunReader;
  /** Result for a reader that joined the run. Absent for the reader that requested the run. */
  readonly joined?: JoinedResult;
}

/** A run and one of its readers: the one that requested the run, or one that joined it later. */
export class RunReading {
  readonly requestId: string;
  readonly joined: JoinedResult | undefined;
  /** `undefined`: the reader has left. */
  #reader: RunReader | undefined;
  /** Whether the reader has received events. */
  #hasBegun = false;

  constructor({ requestId, reader, joined }: RunReadingOptions) {
    this.requestId = requestId;
    this.joined = joined;
    this.#reader = reader;
  }

  get reader(): RunReader | undefined {
    return this.#reader;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /**
   * Gives events to the reader. If the reader already has events of the run, drops a second
   * `run-start`, which comes when another tab continues the run.
   */
  give(events: EventBatch, start: MessageStart): void {
    const newEvents = this.#hasBegun ? events.filter((event) => !isRunStart(event)) : events;
    if (!this.#reader || !newEvents.length) return;
    if (!this.#hasBegun) this.#reader.begin(start);
    this.#hasBegun = true;
    this.#reader.add(newEvents);
    this.joined?.add(newEvents);
  }

  /** Removes the reader. A run whose reader has left waits for another reader. */
  leave(): void {
    this.#reader = undefined;
  }
}

function isRunStart({ type, agentPath }: EventBatch[number]): boolean {
  return type === 'run-start' && agentPath.length < 2;
}
