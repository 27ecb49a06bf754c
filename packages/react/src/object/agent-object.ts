import { AgentError } from '@isoloop/core';
import type { DeepPartial } from '@isoloop/core/stream';
import { withChanges } from '../reading/is-equal.ts';

/** What a page shows of an object. Is replaced at each change. */
export interface AgentObjectState<T> {
  readonly object: DeepPartial<T> | undefined;
  /** `submitted`: an object was asked for. `streaming`: it arrives. */
  readonly status: 'ready' | 'submitted' | 'streaming' | 'error';
  readonly error: Error | undefined;
}

/** Objects as they arrive. Returns the last one if it is complete. */
export type Objects<T> = AsyncGenerator<DeepPartial<T> | undefined, T | undefined>;

/** Begins a request. */
type Begin<T> = (signal: AbortSignal) => Objects<T>;

/** Object that a page asks an agent for. A new request ends the one before it. */
export class AgentObject<T> {
  state: AgentObjectState<T> = { object: undefined, status: 'ready', error: undefined };
  readonly #listeners: Set<() => void> = new Set();
  /** Aborts the running request. */
  #controller: AbortController | undefined;
  /** Whether no component shows the object. */
  #isLeft = false;
  /** Settles when the last request has ended. */
  #whenEnded: Promise<unknown> = Promise.resolve();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /**
   * Is called when a component shows the object. `resume` returns an object that is already on its
   * way. Returns a function that leaves the object, and ends its request.
   */
  enter(resume: Begin<T> | undefined): () => void {
    this.#isLeft = false;
    if (resume && !this.#controller) void this.#begin(resume);
    return () => {
      this.#isLeft = true;
      // In strict mode, React leaves and enters again at once.
      queueMicrotask(() => void (this.#isLeft && this.stop()));
    };
  }

  /** Resolves with the object if it is complete. A failure is in the state. */
  request(begin: Begin<T>): Promise<T | undefined> {
    const object = this.#begin(begin);
    this.#set({ object: undefined, status: 'submitted', error: undefined });
    return object;
  }

  /**
   * Ends the running request where it runs, and keeps the object so far. If the run goes on, the
   * failure is in the state.
   */
  async stop(): Promise<void> {
    this.#controller?.abort();
    await this.#whenEnded;
  }

  /** Ends the running request, and removes the object and the error. */
  async clear(): Promise<void> {
    await this.stop();
    if (!this.#controller) this.#set({ object: undefined, status: 'ready', error: undefined });
  }

  #begin(begin: Begin<T>): Promise<T | undefined> {
    const whenStopped = this.stop();
    const controller = new AbortController();
    this.#controller = controller;
    const object = whenStopped.then(() => this.#read(begin, controller));
    this.#whenEnded = object;
    return object;
  }

  async #read(begin: Begin<T>, controller: AbortController): Promise<T | undefined> {
    const { signal } = controller;
    let error: Error | undefined;
    let output: T | undefined;
    try {
      if (!signal.aborted) output = await this.#show(begin(signal), signal);
    } catch (thrown) {
      if (!signal.aborted || isFailedStop(thrown)) error = thrown as Error;
    }
    if (this.#controller !== controller) return undefined;
    this.#controller = undefined;
    this.#set({ status: error ? 'error' : 'ready', error });
    return output;
  }

  async #show(objects: Objects<T>, signal: AbortSignal): Promise<T | undefined> {
    for (;;) {
      const { done, value } = await objects.next();
      if (done) return value;
      if (!signal.aborted) this.#set({ object: value, status: 'streaming' });
    }
  }

  #set(changes: Partial<AgentObjectState<T>>): void {
    this.state = withChanges(this.state, changes);
    for (const listener of this.#listeners) listener();
  }
}

/** Returns whether an error says that the run goes on. The end of the reading has other errors. */
function isFailedStop(thrown: unknown): boolean {
  return AgentError.is(thrown) && !/^(ABORTED|MODEL_UNREACHABLE)$/.test(thrown.code);
}
