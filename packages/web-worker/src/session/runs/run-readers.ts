import { AgentError } from '@isoloop/core';
import type { AgentErrorData, AgentResult, EventBatch } from '@isoloop/core';
import type { MessageStart } from '../../wire/protocol.ts';
import { ActiveRun } from './active-run.ts';
import type { ActiveRunState } from '../../wire/tab-protocol.ts';

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

/** Reader of a run that it has requested. */
interface Requester {
  /** `undefined`: the reader has left. */
  reader: RunReader | undefined;
  /** Whether the reader has received events. */
  hasBegun: boolean;
}

interface JoinedReader {
  readonly reader: RunReader;
  readonly resolve: (result: AgentResult | undefined) => void;
  readonly reject: (error: AgentError) => void;
  failure: AgentErrorData | undefined;
}

/**
 * Readers in this worker of the session's runs, including runs that other tabs requested. Passes
 * the events of the active run to them.
 */
export class RunReaders {
  readonly activeRun: ActiveRun = new ActiveRun();
  readonly #watchers: Set<(events: EventBatch) => void> = new Set();
  /** Readers of requested runs, by request id. */
  readonly #requesters: Map<string, Requester> = new Map();
  /** Further readers, which joined during the active run. */
  readonly #joinedReaders: Set<JoinedReader> = new Set();
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
      [...this.#requesters.values()].some(({ hasBegun }) => hasBegun)
    );
  }

  get hasJoined(): boolean {
    return this.#joinedReaders.size > 0;
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
    this.#requesters.set(requestId, { reader, hasBegun: false });
    return () => void this.#requesters.delete(requestId);
  }

  /** Removes the reader of a request. The run then waits for another reader. */
  leave(requestId: string): void {
    const requester = this.#requesters.get(requestId);
    if (requester) requester.reader = undefined;
    this.#reportChange();
  }

  /** Returns whether the reader of a request has left and no other reader has joined. */
  isAbandoned(requestId: string): boolean {
    const requester = this.#requesters.get(requestId);
    const isRead =
      this.#foreignRequestId === requestId ||
      (this.activeRun.requestId === requestId && this.#joinedReaders.size > 0);
    return requester !== undefined && !requester.reader && !isRead;
  }

  /**
   * Adds a reader that gets the active run from its start. Resolves with the run's result, or with
   * `undefined` if the reader leaves.
   */
  async join(reader: RunReader, leaveSignal: AbortSignal): Promise<AgentResult | undefined> {
    let joinedReader: JoinedReader | undefined;
    if (leaveSignal.aborted) return undefined;
    try {
      return await new Promise((resolve, reject) => {
        joinedReader = { reader, resolve, reject, failure: undefined };
        this.#joinedReaders.add(joinedReader);
        const leave = (): void => resolve(undefined);
        leaveSignal.addEventListener('abort', leave);
        reader.onFailure = leave;
        reader.begin(this.activeRun.start);
        if (this.activeRun.lastEvent) reader.add(this.activeRun.events);
        this.#reportChange();
      });
    } finally {
      this.#joinedReaders.delete(joinedReader!);
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
    for (const { reject } of this.#joinedReaders)
      reject(new AgentError('WORKER_TERMINATED', 'The run ended because its tab has closed.'));
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
    const requester = this.#requesters.get(requestId);
    if (!requester || requester.reader?.isReady) return undefined;
    return this.#untilReady(requester, requestId, signal);
  }

  /**
   * Resolves when one of the run's readers can take more events, or when no reader sets its pace.
   */
  async #untilReady(requester: Requester, requestId: string, signal: AbortSignal): Promise<void> {
    for (let waits = true; waits && this.#foreignRequestId !== requestId && !signal.aborted;) {
      let change = (): void => {};
      const whenChanged = new Promise<true>((resolve) => (change = () => resolve(true)));
      this.#changeListeners.add(change);
      signal.addEventListener('abort', change);
      const joinedReaders = this.activeRun.requestId === requestId ? [...this.#joinedReaders] : [];
      const whenJoinedReady = joinedReaders.map(({ reader }) =>
        reader.ready().then(
          () => false,
          () => whenChanged,
        ),
      );
      try {
        waits = await Promise.race([
          ...(requester.reader ? [requester.reader.ready().then(() => false)] : []),
          ...whenJoinedReady,
          whenChanged,
        ]);
      } finally {
        this.#changeListeners.delete(change);
        signal.removeEventListener('abort', change);
      }
    }
  }

  /** Sets the callback for the case that the reader of the request cannot be reached. */
  onFailure(requestId: string, fail: () => void): void {
    const requester = this.#requesters.get(requestId);
    if (requester?.reader) requester.reader.onFailure = fail;
  }

  #reportChange(): void {
    for (const change of this.#changeListeners) change();
  }

  #show(events: EventBatch, requestId: string, start: MessageStart): void {
    if (!events.length) return;
    for (const watcher of this.#watchers) watcher(events);
    this.#give(events, requestId, start);
    for (const joinedReader of this.#joinedReaders) {
      joinedReader.reader.add(events);
      for (const event of events) {
        if (event.agentPath.length > 1) continue;
        if (event.type === 'error') joinedReader.failure = event.error;
        if (event.type === 'run-end') end(joinedReader, event.result);
      }
    }
  }

  /**
   * Passes events to the reader of a request. If the reader already has events of the run, drops a
   * second `run-start`, which comes when another tab continues the run.
   */
  #give(events: EventBatch, requestId: string, start: MessageStart): void {
    const requester = this.#requesters.get(requestId);
    const readerEvents = requester?.hasBegun
      ? events.filter(({ type, agentPath }) => type !== 'run-start' || agentPath.length > 1)
      : events;
    if (!requester?.reader || !readerEvents.length) return;
    if (!requester.hasBegun) requester.reader.begin(start);
    requester.hasBegun = true;
    requester.reader.add(readerEvents);
  }
}

function end({ failure, resolve, reject }: JoinedReader, result: AgentResult): void {
  if (failure) reject(AgentError.fromJSON(failure));
  else if (result.reason === 'error')
    reject(new AgentError('WORKER_TERMINATED', 'The run failed, and its tab is gone.'));
  else resolve(result);
}
