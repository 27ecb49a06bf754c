import { AgentError } from '@isoloop/core';
import type { AgentErrorData, AgentResult, EventBatch } from '@isoloop/core';
import type { ShownTurn } from '../wire/shown-turn.ts';
import { RunMirror } from './run-mirror.ts';
import type { RunSoFar } from '../wire/tab-protocol.ts';

/** Who reads a run: the end of a port. */
export interface RunReader {
  /** Told once, before the events. */
  begin(turn: ShownTurn): void;
  add(events: EventBatch): void;
  /** Resolves when it may be given another batch; rejects where the last could not be sent. */
  ready(): Promise<void>;
  /** Set by who gives it events; called when something could not be sent. */
  onFailure: (() => void) | undefined;
}

interface Joined {
  readonly reader: RunReader;
  readonly resolve: (result: AgentResult | undefined) => void;
  readonly reject: (error: AgentError) => void;
  failure: AgentErrorData | undefined;
}

/**
 * The readers in this worker of the session's runs, whichever tab asked for them, and what they are
 * shown of the run under way.
 */
export class RunReaders {
  readonly mirror: RunMirror = new RunMirror();
  readonly #watchers: Set<(events: EventBatch) => void> = new Set();
  /** Who asked for a run, by the work's id. */
  readonly #owners: Map<string, { reader: RunReader | undefined; begun: boolean }> = new Map();
  /** Who came while the run was under way. */
  readonly #joined: Set<Joined> = new Set();
  /** The work that somebody else reads at a pace nobody knows. */
  #unpaced: string | undefined;
  /** What waits for a reader to come or go. */
  readonly #waiting: Set<() => void> = new Set();

  /** Whether somebody here has seen the begin of a run and not its end. */
  get isWaiting(): boolean {
    return this.mirror.soFar !== undefined || [...this.#owners.values()].some(({ begun }) => begun);
  }

  get hasJoined(): boolean {
    return this.#joined.size > 0;
  }

  /** Tells of all runs, from the start of the one that is under way; gives back what ends it. */
  watch(listener: (events: EventBatch) => void): () => void {
    if (this.mirror.events.length) listener([...this.mirror.events]);
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** The reader of a piece of work, as long as that is asked for. */
  own(work: string, reader: RunReader): () => void {
    this.#owners.set(work, { reader, begun: false });
    return () => void this.#owners.delete(work);
  }

  /** Who asked for it reads it no more: it waits for another reader. */
  leave(work: string): void {
    const owner = this.#owners.get(work);
    if (owner) owner.reader = undefined;
    this.#changed();
  }

  /** Whether its reader has left, and no other one has come. */
  isLeft(work: string): boolean {
    const owner = this.#owners.get(work);
    const isRead = this.#unpaced === work || (this.mirror.work === work && this.#joined.size > 0);
    return owner !== undefined && !owner.reader && !isRead;
  }

  /**
   * Reads the run under way from its start, till its end or the reader's own, which gives nothing.
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
    // What was refused while another one runs is its owner's alone.
    if (!isMirrored || !shown.length) this.#give(batch, work, {});
  }

  /** What another tab has of the run under way; nothing: there is none. */
  catchUp(run: RunSoFar | undefined): void {
    if (run?.work !== this.mirror.work) this.forget();
    if (run) this.#show(this.mirror.catchUp(run), run.work, run.turn);
  }

  /** Nobody goes on with the run that was under way. */
  forget(): void {
    this.mirror.forget();
    for (const { reject } of this.#joined)
      reject(new AgentError('WORKER_TERMINATED', 'The run and its tab are gone.'));
  }

  /** Somebody reads it elsewhere, too. */
  unpace(work: string): void {
    this.#unpaced = work;
    this.#changed();
  }

  /**
   * Resolves when the run may go on: as soon as one of its readers can take more. Who asked for it
   * holds it up, nobody else; rejects where that one can't be sent to.
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

  /** Of a run that could not be sent to who asked for it. */
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

  /** A run that is gone on with begins once for who reads it from its start. */
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
