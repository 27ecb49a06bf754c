import type { AgentResult, EventBatch } from '@isoloop/core';
import { DirectHost, type DirectHostOptions } from './direct-host.ts';
import { PendingRequests, type PendingRequestOptions } from './runs/pending-requests.ts';
import { RunReaders, type RunReader } from './runs/run-readers.ts';
import type { SessionHost } from './session-host.ts';
import { SessionPages } from './session-pages.ts';
import type { TabAnswer, TabQuestion, TabWork } from '../wire/tab-protocol.ts';

export type SessionOptions = Omit<DirectHostOptions, 'pages' | 'readers' | 'pending' | 'onShared'>;

/**
 * A session as a worker's pages see it. Its host takes their requests to the agent, which is in
 * this worker or in another tab's.
 */
export class Session {
  /** Tools, models and hooks of this worker's pages. The agent has them while it is here. */
  readonly pages: SessionPages = new SessionPages();
  readonly #readers = new RunReaders();
  readonly #pending: PendingRequests = new PendingRequests(this.#readers);
  #host: SessionHost;

  constructor(options: SessionOptions) {
    this.#host = new DirectHost({
      ...options,
      pages: this.pages,
      readers: this.#readers,
      pending: this.#pending,
      onShared: (host) => (this.#host = host),
    });
    const { after } = options;
    if (after) void after.then(() => this.#host.enter());
    else this.#host.enter();
  }

  /** Requests a run. */
  async run(
    work: Exclude<TabWork, { readonly type: 'resume' }>,
    controller: AbortController,
    reader?: RunReader,
  ): Promise<AgentResult> {
    this.#pending.abortLeft();
    return (await this.#request({
      asked: { type: 'work', work },
      controller,
      ...(reader && { reader }),
    })) as AgentResult;
  }

  /**
   * Resumes the active run from its start, whichever tab requested it. Otherwise resumes an
   * interrupted run, if there is one. `gone`: raised when the reader has gone.
   */
  async resume(
    controller: AbortController,
    reader: RunReader,
    gone: AbortSignal,
  ): Promise<AgentResult | undefined> {
    const joined = this.#join(controller.signal, reader, gone);
    if (joined) return joined;
    const left = new Promise<undefined>((resolve) =>
      gone.addEventListener('abort', () => resolve(undefined)),
    );
    const resumed = this.#request({
      asked: { type: 'work', work: { type: 'resume' } },
      controller,
      reader,
      gone,
    });
    resumed.catch(() => {});
    const result = await Promise.race([resumed, left]);
    return (result as AgentResult | undefined) ?? this.#join(controller.signal, reader, gone);
  }

  ask<T extends TabAnswer>(question: TabQuestion): Promise<T> {
    return this.#request({
      asked: { type: 'ask', question },
      controller: new AbortController(),
    }) as Promise<T>;
  }

  /**
   * Passes the events of all runs to a listener, whichever tab requested them. Begins at the start
   * of the active run. Returns a function that stops it.
   */
  watch(listener: (events: EventBatch) => void): () => void {
    const stop = this.#readers.watch(listener);
    this.#host.onReader();
    return stop;
  }

  /** Gives up the lead, because the page may freeze at any moment. */
  sleep(): void {
    this.#host.sleep();
  }

  wake(): void {
    this.#host.wake();
  }

  /**
   * Leaves the session. Resolves when the log is in order. `gone`: leaves its runs for another tab
   * to continue.
   */
  close({ gone = false }: { readonly gone?: boolean } = {}): Promise<void> {
    return this.#host.close(gone);
  }

  #request(options: PendingRequestOptions): Promise<AgentResult | TabAnswer> {
    return this.#pending.add(options, (request) => {
      const { id, controller } = request;
      controller.signal.addEventListener('abort', () => this.#host.abort(id));
      this.#host.give(request);
    });
  }

  /** Joins the active run. Returns nothing if there is none. */
  #join(
    signal: AbortSignal,
    reader: RunReader,
    gone: AbortSignal,
  ): Promise<AgentResult | undefined> | undefined {
    const { work } = this.#readers.mirror;
    if (work === undefined) return undefined;
    const stop = (): void => this.#host.stop(work);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
    const joined = this.#readers.join(reader, gone);
    this.#host.onReader();
    return joined.finally(() => signal.removeEventListener('abort', stop));
  }
}
