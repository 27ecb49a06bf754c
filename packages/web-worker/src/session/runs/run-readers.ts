import { AgentError } from '@isoloop/core';
import type { AgentErrorData, AgentResult, EventBatch } from '@isoloop/core';
import type { ShownTurn } from '../../wire/shown-turn.ts';
import { RunMirror } from './run-mirror.ts';
import type { RunSoFar } from '../../wire/tab-protocol.ts';

/** A reader of a run: the end of a port. */
export interface RunReader {
  /** Called once, before the events. */
  begin(turn: ShownTurn): void;
  add(events: EventBatch): void;
  /** Resolves when the reader can take another batch. Rejects if the last one could not be sent. */
  ready(): Promise<void>;
  /** Called when a batch could not be sent. The sender of the events sets it. */
  onFailure: (() => void) | undefined;
}

interface Joined {
  readonly reader: RunReader;
  readonly resolve: (result: AgentResult | undefined) => void;
  readonly reject: (error: AgentError) => void;
  failure: AgentErrorData | undefined;
}

/**
 * This worker's readers of the session's runs, whichever tab requested them. Also decides what they
 * see of the active run.
 */
export class RunReaders {
  readonly mirror: RunMirror = new RunMirror();
  readonly #watchers: Set<(events: EventBatch) => void> = new Set();
  /** Readers that requested a run, by request id. */
  readonly #owners: Map<string, { reader: RunReader | undefined; begun: boolean }> = new Map();
  /** Readers that joined during the run. */
  readonly #joined: Set<Joined> = new Set();
  /** Request that another tab reads at an unknown pace. */
  #unpaced: string | undefined;
  /** Callbacks to run when a reader comes or goes. */
  readonly #waiting: Set<() => void> = new Set();

  /** Whether a reader here has seen the start of a run, but not its end. */
  get isWaiting(): boolean {
    return this.mirror.soFar !== undefined || [...this.#owners.values()].some(({ begun }) => begun);
  }

  get hasJoined(): boolean {
    return this.#joined.size > 0;
  }

  /**
   * Passes the events of all runs to a listener, from the start of the active run. Returns a
   * function that stops it.
   */
  watch(listener: (events: EventBatch) => void): () => void {
    if (this.mirror.events.length) listener([...this.mirror.events]);
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** Sets the reader of a request. Returns a function that removes it. */
  own(work: string, reader: RunReader): () => void {
    this.#owners.set(work, { reader, begun: false });
    return () => void this.#owners.delete(work);
  }

  /** Removes the requesting reader. The run then waits for another reader. */
  leave(work: string): void {
    const owner = this.#owners.get(work);
    if (owner) owner.reader = undefined;
    this.#changed();
  }

  /** Whether the requesting reader has left and no other one has come. */
  isLeft(work: string): boolean {
    const owner = this.#owners.get(work);
    const isRead = this.#unpaced === work || (this.mirror.work === work && this.#joined.size > 0);
    return owner !== undefined && !owner.reader && !isRead;
  }

  /**
   * Adds a reader that gets the active run from its start. Resolves with the run's result, or with
   * nothing if the reader leaves.
   */
  async join(reader: RunReader, gone: AbortSignal): Promise<AgentResult | undefined> {
    let joined: Joined | undefined;
    if (gone.aborted) return undefined;
    try {
      return await new Promise((resolve, reject) => {
        joined = { reader, resolve, reject, failure: undefined };
        this.#joined.add(joined);
        const leave = (): void => resolve(undefined);
        gone.addEventListener('abort', leave);
        reader.onFailure = leave;
        reader.begin(this.mirror.turn);
        if (this.mirror.events.length) reader.add([...this.mirror.events]);
        this.#changed();
      });
    } finally {
      this.#joined.delete(joined!);
      this.#changed();
    }
  }

  show(batch: EventBatch, work: string, turn?: ShownTurn): void {
    const isMirrored = this.mirror.work === undefined || this.mirror.work === work;
    const shown = this.mirror.add(batch, work, turn);
    this.#show(shown, work, turn ?? this.mirror.turn);
    // A call that was refused during another run concerns its own reader only.
    if (!isMirrored || !shown.length) this.#give(batch, work, {});
  }

  /** Adds another tab's events of the active run. `undefined`: no run is active. */
  catchUp(run: RunSoFar | undefined): void {
    if (run?.work !== this.mirror.work) this.forget();
    if (run) this.#show(this.mirror.catchUp(run), run.work, run.turn);
  }

  /** Forgets the active run, which nobody continues. Its readers get an error. */
  forget(): void {
    this.mirror.forget();
    for (const { reject } of this.#joined)
      reject(new AgentError('WORKER_TERMINATED', 'The run and its tab are gone.'));
  }

  /** Notes that another tab reads the run too. */
  unpace(work: string): void {
    this.#unpaced = work;
    this.#changed();
  }

  /**
   * Resolves when the run may continue: as soon as one of its readers can take more. Only the
   * requesting reader delays the run. Rejects if that reader cannot be reached.
   */
  async paced(work: string, signal: AbortSignal): Promise<void> {
    const owner = this.#owners.get(work);
    if (!owner) return;
    for (let waits = true; waits && this.#unpaced !== work && !signal.aborted;) {
      let change = (): void => {};
      const changed = new Promise<true>((resolve) => (change = () => resolve(true)));
      this.#waiting.add(change);
      signal.addEventListener('abort', change);
      const others = this.mirror.work === work ? [...this.#joined] : [];
      const ready = others.map(({ reader }) =>
        reader.ready().then(
          () => false,
          () => changed,
        ),
      );
      try {
        waits = await Promise.race([
          ...(owner.reader ? [owner.reader.ready().then(() => false)] : []),
          ...ready,
          changed,
        ]);
      } finally {
        this.#waiting.delete(change);
        signal.removeEventListener('abort', change);
      }
    }
  }

  /** Sets the callback for a run whose requesting reader cannot be reached. */
  onFailure(work: string, fail: () => void): void {
    const owner = this.#owners.get(work);
    if (owner?.reader) owner.reader.onFailure = fail;
  }

  #changed(): void {
    for (const change of this.#waiting) change();
  }

  #show(events: EventBatch, work: string, turn: ShownTurn): void {
    if (!events.length) return;
    for (const watcher of this.#watchers) watcher(events);
    this.#give(events, work, turn);
    for (const joined of this.#joined) {
      joined.reader.add(events);
      for (const event of events) {
        if (event.agentPath.length > 1) continue;
        if (event.type === 'error') joined.failure = event.error;
        if (event.type === 'run-end') end(joined, event.result);
      }
    }
  }

  /**
   * Passes events to the requesting reader. A continued run has one `run-start` for a reader from
   * its start.
   */
  #give(events: EventBatch, work: string, turn: ShownTurn): void {
    const owner = this.#owners.get(work);
    const own = owner?.begun
      ? events.filter(({ type, agentPath }) => type !== 'run-start' || agentPath.length > 1)
      : events;
    if (!owner?.reader || !own.length) return;
    if (!owner.begun) owner.reader.begin(turn);
    owner.begun = true;
    owner.reader.add(own);
  }
}

function end({ failure, resolve, reject }: Joined, result: AgentResult): void {
  if (failure) reject(AgentError.fromJSON(failure));
  else if (result.reason === 'error')
    reject(new AgentError('WORKER_TERMINATED', 'The run failed, and its tab is gone.'));
  else resolve(result);
}
