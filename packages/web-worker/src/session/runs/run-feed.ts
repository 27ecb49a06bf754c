import type { AgentResult, EventBatch } from '@isoloop/core';
import type { MessageStart } from '../../wire/protocol.ts';
import type { ActiveRunState } from '../../wire/tab-protocol.ts';
import { ActiveRun, isRunStart } from './active-run.ts';

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

/** A reader and the run that it reads: the one that it requested, or one that it joined later. */
interface Reading {
  /** Id of the request for the run. */
  readonly requestId: string;
  /** `undefined`: the reader has left. The run then waits for another reader. */
  reader: RunReader | undefined;
  /** Whether the reader has received events. */
  hasBegun: boolean;
  /**
   * Settles the result of a reader that joined the run. Absent for the reader that requested it,
   * which gets the result with the outcome of its request.
   */
  readonly settle?: (result: Promise<AgentResult> | undefined) => void;
}

/** Wait for the next change of the readers. */
interface ReaderChange {
  readonly promise: Promise<void>;
  /** Ends the wait. */
  readonly stop: () => void;
}

/**
 * Feed of the session's runs for the readers in this worker, including runs that other tabs
 * requested. Keeps the events of the active run for readers that join later.
 */
export class RunFeed {
  /** Called with all published events. While this worker leads, sends them to the other tabs. */
  onPublish: RunFeed['publish'] | undefined;
  #activeRun: ActiveRun | undefined;
  readonly #watchers: Set<(events: EventBatch) => void> = new Set();
  readonly #readings: Set<Reading> = new Set();
  /**
   * Id of the request whose run another tab reads too. The reading speed of that tab is unknown.
   */
  #foreignRequestId: string | undefined;
  /** Callbacks to call when a reader joins or leaves. */
  readonly #changeListeners: Set<() => void> = new Set();

  /** The run that has begun and not ended, if any. */
  get activeRun(): ActiveRun | undefined {
    return this.#activeRun;
  }

  /** Whether a reader in this worker has received the start of a run, but not its end. */
  get isWaiting(): boolean {
    return (
      this.#activeRun !== undefined ||
      [...this.#readings].some(({ hasBegun, settle }) => hasBegun && !settle)
    );
  }

  get hasJoined(): boolean {
    return [...this.#readings].some(({ settle }) => settle);
  }

  /**
   * Passes events of the run that a request started to its readers and to all watchers. If no run
   * is active, a `run-start` begins the active run.
   */
  publish(batch: EventBatch, requestId: string, start?: MessageStart): void {
    if (!this.#activeRun && batch.some(isRunStart))
      this.#activeRun = new ActiveRun(requestId, start);
    const run = this.#activeRun;
    if (run?.requestId === requestId) this.#show(run, run.add(batch));
    // If the agent refuses a request, also during another run, only its own reader gets the events.
    else this.#deliver(batch, requestId);
    if (run?.hasEnded) this.endActiveRun();
    this.onPublish?.(batch, requestId, start);
  }

  /** Adds the events of the active run that another tab sent. `undefined`: no run is active. */
  catchUp(state: ActiveRunState | undefined): void {
    if (state?.requestId !== this.#activeRun?.requestId) this.endActiveRun();
    if (!state) return;
    this.#activeRun ??= new ActiveRun(state.requestId);
    this.#show(this.#activeRun, this.#activeRun.catchUp(state));
  }

  /** Removes the active run. Readers that joined a run without an end get an error. */
  endActiveRun(): void {
    const result = this.#activeRun?.result();
    // It rejects also if no reader has joined the run.
    result?.catch(() => {});
    this.#activeRun = undefined;
    for (const { settle } of this.#readings) settle?.(result);
  }

  /**
   * Calls a listener with the events of all runs, from the start of the active run on. Returns a
   * function that removes the listener.
   */
  watch(listener: (events: EventBatch) => void): () => void {
    if (this.#activeRun) listener(this.#activeRun.events);
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** Sets the reader of a request. Returns a function that removes the reader. */
  addRequester(requestId: string, reader: RunReader): () => void {
    const reading: Reading = { requestId, reader, hasBegun: false };
    this.#readings.add(reading);
    return () => void this.#readings.delete(reading);
  }

  /** Removes the reader of a request. The run then waits for another reader. */
  leave(requestId: string): void {
    const requester = this.#requester(requestId);
    if (requester) requester.reader = undefined;
    this.#reportChange();
  }

  /** Sets the callback for the case that the reader of the request cannot be reached. */
  onFailure(requestId: string, fail: () => void): void {
    const reader = this.#requester(requestId)?.reader;
    if (reader) reader.onFailure = fail;
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
    const run = this.#activeRun;
    if (!run || leaveSignal.aborted) return undefined;
    let settle!: NonNullable<Reading['settle']>;
    const result = new Promise<AgentResult | undefined>((resolve) => (settle = resolve));
    const reading: Reading = { requestId: run.requestId, reader, hasBegun: true, settle };
    const leave = (): void => settle(undefined);
    leaveSignal.addEventListener('abort', leave);
    reader.onFailure = leave;
    this.#readings.add(reading);
    try {
      reader.begin(run.start);
      reader.add(run.events);
      this.#reportChange();
      return await result;
    } finally {
      leaveSignal.removeEventListener('abort', leave);
      this.#readings.delete(reading);
      this.#reportChange();
    }
  }

  /** Records that another tab reads the run too, so that no reader delays the run. */
  addForeignReader(requestId: string): void {
    this.#foreignRequestId = requestId;
    this.#reportChange();
  }

  /**
   * Returns a promise to wait for before the run continues, or `undefined` if it need not wait. The
   * promise rejects if the reader of the request cannot be reached.
   */
  whenReady(requestId: string, signal: AbortSignal): Promise<void> | undefined {
    return this.#mustWait(requestId) ? this.#untilReady(requestId, signal) : undefined;
  }

  async #untilReady(requestId: string, signal: AbortSignal): Promise<void> {
    while (this.#mustWait(requestId) && !signal.aborted) {
      const change = this.#nextChange(signal);
      const readers = this.#readingsOf(requestId).flatMap((reading) =>
        whenReaderReady(reading, change.promise),
      );
      try {
        await Promise.race([...readers, change.promise]);
      } finally {
        change.stop();
      }
    }
  }

  /**
   * Returns whether a run has to wait: the readers of this worker set its pace, even if they have
   * left. None of them can take more events now.
   */
  #mustWait(requestId: string): boolean {
    if (!this.#requester(requestId) || this.#foreignRequestId === requestId) return false;
    return !this.#readingsOf(requestId).some(({ reader }) => reader?.isReady);
  }

  /** Waits until a reader joins or leaves, or the run is aborted. */
  #nextChange(signal: AbortSignal): ReaderChange {
    let change = (): void => {};
    const promise = new Promise<void>((resolve) => (change = resolve));
    this.#changeListeners.add(change);
    signal.addEventListener('abort', change);
    const stop = (): void => {
      this.#changeListeners.delete(change);
      signal.removeEventListener('abort', change);
    };
    return { promise, stop };
  }

  #reportChange(): void {
    for (const change of this.#changeListeners) change();
  }

  #readingsOf(requestId: string): readonly Reading[] {
    return [...this.#readings].filter((reading) => reading.requestId === requestId);
  }

  /** Returns the reading of the reader that requested a run. The reader may have left. */
  #requester(requestId: string): Reading | undefined {
    return this.#readingsOf(requestId).find(({ settle }) => !settle);
  }

  /** Passes events of the active run to its readers and to all watchers. */
  #show(run: ActiveRun, events: EventBatch): void {
    if (!events.length) return;
    for (const watcher of this.#watchers) watcher(events);
    this.#deliver(events, run.requestId, run.start);
  }

  /**
   * Passes events to the readers of a run. A reader that already has events of the run does not get
   * a second `run-start`, which comes when another tab continues the run.
   */
  #deliver(events: EventBatch, requestId: string, start: MessageStart = {}): void {
    for (const reading of this.#readingsOf(requestId)) {
      const { reader, hasBegun } = reading;
      const newEvents = hasBegun ? events.filter((event) => !isRunStart(event)) : events;
      if (!reader || !newEvents.length) continue;
      if (!hasBegun) reader.begin(start);
      reading.hasBegun = true;
      reader.add(newEvents);
    }
  }
}

/** Returns a promise that resolves when the reader can take more events. None if it has left. */
function whenReaderReady(
  { reader, settle }: Reading,
  whenChanged: Promise<void>,
): readonly Promise<void>[] {
  if (!reader) return [];
  // A joined reader that cannot be reached leaves. The run then waits for the other readers.
  return [settle ? reader.ready().catch(() => whenChanged) : reader.ready()];
}
