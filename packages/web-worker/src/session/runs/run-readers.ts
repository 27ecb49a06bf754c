import type { AgentResult, EventBatch } from '@isoloop/core';
import type { MessageStart } from '../../wire/protocol.ts';
import { ActiveRun } from './active-run.ts';
import { JoinedResult } from './joined-result.ts';
import { RunReading, type RunReader } from './run-reading.ts';
import type { ActiveRunState } from '../../wire/tab-protocol.ts';

/** Wait for the next change of the readers. */
interface ReaderChange {
  readonly promise: Promise<false>;
  /** Ends the wait. */
  readonly stop: () => void;
}

/**
 * Readers in this worker of the session's runs, including runs that other tabs requested. Passes
 * the events of the active run to them.
 */
export class RunReaders {
  readonly activeRun: ActiveRun = new ActiveRun();
  readonly #watchers: Set<(events: EventBatch) => void> = new Set();
  /** All readers, each with its run: those that requested a run, and those that joined one. */
  readonly #readings: Set<RunReading> = new Set();
  /**
   * Id of the request whose run another tab reads too. The reading speed of that tab is unknown.
   */
  #foreignRequestId: string | undefined;
  /** Callbacks to call when a reader joins or leaves. */
  readonly #changeListeners: Set<() => void> = new Set();

  /** Whether a reader in this worker has received the start of a run, but not its end. */
  get isWaiting(): boolean {
    return (
      this.activeRun.requestId !== undefined ||
      [...this.#readings].some(({ hasBegun, joined }) => hasBegun && !joined)
    );
  }

  get hasJoined(): boolean {
    return [...this.#readings].some(({ joined }) => joined);
  }

  /**
   * Calls a listener with the events of all runs, from the start of the active run on. Returns a
   * function that removes the listener.
   */
  watch(listener: (events: EventBatch) => void): () => void {
    if (this.activeRun.lastEvent) listener(this.activeRun.events);
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** Sets the reader of a request. Returns a function that removes the reader. */
  addRequester(requestId: string, reader: RunReader): () => void {
    const reading = new RunReading({ requestId, reader });
    this.#readings.add(reading);
    return () => void this.#readings.delete(reading);
  }

  /** Removes the reader of a request. The run then waits for another reader. */
  leave(requestId: string): void {
    this.#requester(requestId)?.leave();
    this.#reportChange();
  }

  /** Returns whether the reader of a request has left and no other reader has joined. */
  isAbandoned(requestId: string): boolean {
    if (this.#foreignRequestId === requestId) return false;
    const readings = this.#readingsOf(requestId);
    return readings.length > 0 && readings.every(({ reader }) => !reader);
  }

  /**
   * Adds a reader that gets the active run from its start. Resolves with the run's result, or with
   * `undefined` if the reader leaves or no run is active.
   */
  async join(reader: RunReader, leaveSignal: AbortSignal): Promise<AgentResult | undefined> {
    const { requestId, start, events } = this.activeRun;
    if (requestId === undefined || leaveSignal.aborted) return undefined;
    const joined = new JoinedResult();
    const reading = new RunReading({ requestId, reader, joined });
    const leave = (): void => joined.leave();
    leaveSignal.addEventListener('abort', leave);
    reader.onFailure = leave;
    this.#readings.add(reading);
    try {
      reading.give(events, start);
      this.#reportChange();
      return await joined.promise;
    } finally {
      leaveSignal.removeEventListener('abort', leave);
      this.#readings.delete(reading);
      this.#reportChange();
    }
  }

  /** Passes events of a request to the readers. */
  show(batch: EventBatch, requestId: string, start?: MessageStart): void {
    const isMirrored =
      this.activeRun.requestId === undefined || this.activeRun.requestId === requestId;
    const newEvents = this.activeRun.add(batch, requestId, start);
    this.#show(newEvents, requestId, start ?? this.activeRun.start);
    // If the agent refuses a request during another run, only the reader of that request gets the
    // events.
    if (!isMirrored || !newEvents.length) this.#give(batch, requestId, {});
  }

  /** Adds the events of the active run that another tab sent. `undefined`: no run is active. */
  catchUp(run: ActiveRunState | undefined): void {
    if (run?.requestId !== this.activeRun.requestId) this.endActiveRun();
    if (run) this.#show(this.activeRun.catchUp(run), run.requestId, run.start);
  }

  /** Removes the active run, which no tab continues. Readers that joined the run get an error. */
  endActiveRun(): void {
    this.activeRun.clear();
    for (const { joined } of this.#readings)
      joined?.fail('The run ended because its tab has closed.');
  }

  /** Records that another tab reads the run too, so that no reader delays the run. */
  addForeignReader(requestId: string): void {
    this.#foreignRequestId = requestId;
    this.#reportChange();
  }

  /**
   * Returns a promise to wait for before the run continues, or `undefined` if a reader can take
   * more events already. The request may also have no reader in this worker. The promise rejects if
   * the reader of the request cannot be reached.
   */
  whenReady(requestId: string, signal: AbortSignal): Promise<void> | undefined {
    const isAnyReady = this.#readingsOf(requestId).some(({ reader }) => reader?.isReady);
    if (isAnyReady || !this.#setsPace(requestId)) return undefined;
    return this.#untilReady(requestId, signal);
  }

  /**
   * Resolves when one of the run's readers can take more events, or when no reader sets its pace.
   */
  async #untilReady(requestId: string, signal: AbortSignal): Promise<void> {
    while (this.#setsPace(requestId) && !signal.aborted) {
      const change = this.#nextChange(signal);
      const readers = this.#readingsOf(requestId).flatMap((reading) =>
        whenReaderReady(reading, change.promise),
      );
      try {
        const isReady = await Promise.race([...readers, change.promise]);
        if (isReady) return;
      } finally {
        change.stop();
      }
    }
  }

  /** Returns whether the readers of this worker set the pace of a run, even if they have left. */
  #setsPace(requestId: string): boolean {
    return this.#requester(requestId) !== undefined && this.#foreignRequestId !== requestId;
  }

  /** Waits until a reader joins or leaves, or the run is aborted. */
  #nextChange(signal: AbortSignal): ReaderChange {
    let change = (): void => {};
    const promise = new Promise<false>((resolve) => (change = () => resolve(false)));
    this.#changeListeners.add(change);
    signal.addEventListener('abort', change);
    const stop = (): void => {
      this.#changeListeners.delete(change);
      signal.removeEventListener('abort', change);
    };
    return { promise, stop };
  }

  /** Sets the callback for the case that the reader of the request cannot be reached. */
  onFailure(requestId: string, fail: () => void): void {
    const reader = this.#requester(requestId)?.reader;
    if (reader) reader.onFailure = fail;
  }

  #reportChange(): void {
    for (const change of this.#changeListeners) change();
  }

  #readingsOf(requestId: string): readonly RunReading[] {
    return [...this.#readings].filter((reading) => reading.requestId === requestId);
  }

  /** Returns the reader in this worker that requested a run. It may have left. */
  #requester(requestId: string): RunReading | undefined {
    return this.#readingsOf(requestId).find(({ joined }) => !joined);
  }

  #show(events: EventBatch, requestId: string, start: MessageStart): void {
    if (!events.length) return;
    for (const watcher of this.#watchers) watcher(events);
    this.#give(events, requestId, start);
  }

  #give(events: EventBatch, requestId: string, start: MessageStart): void {
    for (const reading of this.#readingsOf(requestId)) reading.give(events, start);
  }
}

/** Returns a promise that resolves when the reader can take more events. None if it has left. */
function whenReaderReady(
  { reader, joined }: RunReading,
  whenChanged: Promise<false>,
): readonly Promise<boolean>[] {
  if (!reader) return [];
  const ready = reader.ready().then(() => true);
  // A joined reader that cannot be reached leaves. The run then waits for the other readers.
  return [joined ? ready.catch(() => whenChanged) : ready];
}
