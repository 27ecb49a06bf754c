import { userMessage, type AgentResult, type EventBatch } from '@isoloop/core';
import { DirectHost, type DirectHostOptions } from './direct-host.ts';
import { onAbort } from '@isoloop/core/wait';
import { PendingRequests, type PendingRequestOptions } from './runs/pending-requests.ts';
import { RunFeed, type RunReader } from './runs/run-feed.ts';
import type { RequestHost } from './request-host.ts';
import { SessionPages } from './page/session-pages.ts';
import { fromOutcome, type Asker } from '../wire/protocol.ts';
import type { CommandResult, TabCommand, TabTask } from '../wire/tab-protocol.ts';

interface WorkerSessionOptions extends Omit<
  DirectHostOptions,
  'pages' | 'feed' | 'pending' | 'onShared'
> {
  /** Web Lock that this worker holds until it ends, if the browser has locks. */
  readonly lock: string | undefined;
}

/**
 * Session in one worker, for the pages of that worker. Its host passes requests to the agent, which
 * is in this worker or in the worker of another tab.
 */
export class Session {
  /**
   * Tools, models, approvals and hooks of this worker's pages. The agent can use them only while it
   * is in this worker.
   */
  readonly pages: SessionPages;
  readonly #feed = new RunFeed();
  readonly #pending: PendingRequests = new PendingRequests(this.#feed);
  #host: RequestHost;

  constructor({ lock, ...options }: WorkerSessionOptions) {
    this.pages = new SessionPages(lock);
    this.#host = new DirectHost({
      ...options,
      pages: this.pages,
      feed: this.#feed,
      pending: this.#pending,
      onShared: (host) => (this.#host = host),
    });
    const { previousClosed } = options;
    if (previousClosed) void previousClosed.then(() => this.#host.start());
    else this.#host.start();
  }

  /** Requests a run and returns its result. `reader` gets the events. */
  async run(
    task: Exclude<TabTask, { readonly type: 'resume' }>,
    controller: AbortController,
    reader?: RunReader,
  ): Promise<AgentResult> {
    this.#pending.abortAbandoned();
    return (await this.#request({
      body: { type: 'task', task: withMessageId(task) },
      controller,
      ...(reader && { reader }),
    })) as AgentResult;
  }

  /**
   * Shows the active run from its start, even if another tab requested it. If no run is active,
   * continues an interrupted run for the page `asker`. Resolves with `undefined` if there is none.
   * `leaveSignal`: signal that aborts when the reader leaves.
   */
  async resume(
    asker: Asker,
    controller: AbortController,
    reader: RunReader,
    leaveSignal: AbortSignal,
  ): Promise<AgentResult | undefined> {
    const joinedRun = this.#join(controller.signal, reader, leaveSignal);
    if (joinedRun) return joinedRun;
    let leave = (): void => {};
    const whenLeft = new Promise<undefined>((resolve) => (leave = () => resolve(undefined)));
    leaveSignal.addEventListener('abort', leave);
    if (leaveSignal.aborted) leave();
    const resumedRun = this.#request({
      body: { type: 'task', task: { type: 'resume', asker } },
      controller,
      reader,
      leaveSignal,
    });
    resumedRun.catch(() => {});
    const result = await Promise.race([resumedRun, whenLeft]).finally(() =>
      leaveSignal.removeEventListener('abort', leave),
    );
    return (
      (result as AgentResult | undefined) ?? this.#join(controller.signal, reader, leaveSignal)
    );
  }

  /** Sends a command to the agent's worker and returns its result. */
  command<T extends CommandResult>(command: TabCommand): Promise<T> {
    return this.#request({
      body: { type: 'command', command },
      controller: new AbortController(),
    }) as Promise<T>;
  }

  /**
   * Calls a listener with all events since the start of the active run, and with those of later
   * runs. Includes runs of other tabs. Returns a function that removes the listener.
   */
  watch(listener: (events: EventBatch) => void): () => void {
    const stop = this.#feed.watch(listener);
    this.#host.onReader?.();
    return stop;
  }

  /** Lets another tab become the leader, because the page may be frozen at any moment. */
  sleep(): void {
    this.#host.sleep();
  }

  /** Lets this worker become the leader again, because the page is active. */
  wake(): void {
    this.#host.wake?.();
  }

  /**
   * Leaves the session. Resolves when the log is complete. `isGone`: the page disappeared, so its
   * runs stay in the log for another tab to continue.
   */
  close({ isGone = false }: { readonly isGone?: boolean } = {}): Promise<void> {
    return this.#host.close(isGone);
  }

  async #request(options: PendingRequestOptions): Promise<AgentResult | CommandResult> {
    const request = this.#pending.add(options);
    const { id, controller } = request;
    controller.signal.addEventListener('abort', () => this.#host.abort?.(id));
    this.#host.pass(request);
    return fromOutcome(await request.outcome);
  }

  /** Adds the reader to the active run. Returns `undefined` if no run is active. */
  #join(
    signal: AbortSignal,
    reader: RunReader,
    leaveSignal: AbortSignal,
  ): Promise<AgentResult | undefined> | undefined {
    const requestId = this.#feed.activeRun?.requestId;
    if (requestId === undefined) return undefined;
    const removeListener = onAbort(signal, () => this.#host.stop(requestId));
    const result = this.#feed.join(reader, leaveSignal);
    this.#host.onReader?.();
    return result.finally(removeListener);
  }
}

/**
 * Gives a text an id. If another tab becomes the leader, it gets the request again, and the id says
 * whether the log has the message.
 */
function withMessageId<T extends TabTask>(task: T): T {
  if (task.type !== 'run' || typeof task.input !== 'string' || !task.input.trim()) return task;
  return { ...task, input: userMessage(task.input) };
}
