import { AgentError } from '@isoloop/core';
import type { RunFeed, RunReader } from './run-feed.ts';
import type { TabRequestBody, TabOutcome } from '../../wire/tab-protocol.ts';

/**
 * Pending request of a page. The leader, which is the tab whose worker has the agent, receives
 * the request. If another tab becomes the leader, it receives the request too.
 */
export interface PendingRequest {
  readonly id: string;
  readonly body: TabRequestBody;
  readonly controller: AbortController;
  readonly resolve: (outcome: TabOutcome) => void;
  readonly outcome: Promise<TabOutcome>;
  /** Id of the leader (`SessionRuns`) that received the request last. */
  lastLeaderId: string | undefined;
}

export interface PendingRequestOptions {
  readonly body: TabRequestBody;
  readonly controller: AbortController;
  /** Reader for the events of the requested run. */
  readonly reader?: RunReader;
  /** Signal that aborts when the reader leaves. */
  readonly leaveSignal?: AbortSignal;
}

/** Pending requests of a worker's pages in one session. */
export class PendingRequests {
  readonly #requests: Map<string, PendingRequest> = new Map();
  readonly #feed: RunFeed;

  constructor(feed: RunFeed) {
    this.#feed = feed;
  }

  get size(): number {
    return this.#requests.size;
  }

  [Symbol.iterator](): IterableIterator<PendingRequest> {
    return this.#requests.values();
  }

  /** Adds a request, which is pending until it has its outcome. */
  add({ body, controller, reader, leaveSignal }: PendingRequestOptions): PendingRequest {
    const id = crypto.randomUUID();
    let resolve!: PendingRequest['resolve'];
    const answered = new Promise<TabOutcome>((onAnswer) => (resolve = onAnswer));
    const removeReader = reader && this.#feed.addRequester(id, reader);
    const leave = (): void => this.#feed.leave(id);
    const outcome = answered.finally(() => {
      this.#requests.delete(id);
      removeReader?.();
      leaveSignal?.removeEventListener('abort', leave);
    });
    const request: PendingRequest = {
      id,
      body,
      controller,
      resolve,
      outcome,
      lastLeaderId: undefined,
    };
    this.#requests.set(id, request);
    if (leaveSignal?.aborted) leave();
    leaveSignal?.addEventListener('abort', leave);
    return request;
  }

  /** Gives a request its outcome. Does nothing if the request has one. */
  resolve(id: string, outcome: TabOutcome): void {
    this.#requests.get(id)?.resolve(outcome);
  }

  abort(id: string): void {
    this.#requests.get(id)?.controller.abort();
  }

  abortAll(): void {
    for (const { controller } of this) controller.abort();
  }

  /**
   * Aborts the requests whose readers have all left, so that their runs do not delay the next
   * request.
   */
  abortAbandoned(): void {
    for (const { id, controller } of this) if (this.#feed.isAbandoned(id)) controller.abort();
  }

  /** Resolves when all requests have their outcomes. */
  async whenSettled(): Promise<void> {
    await Promise.all([...this].map(({ outcome }) => outcome));
  }

  /** Rejects all requests with `ABORTED`, because no leader will answer them. */
  close(): void {
    const error = new AgentError('ABORTED', 'The session was closed.').toJSON();
    for (const { resolve } of this) resolve({ ok: false, error });
  }
}
