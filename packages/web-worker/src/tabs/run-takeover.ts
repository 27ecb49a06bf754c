import { AgentError, type AgentResult, type Msg } from '@isoloop/core';
import { shownSoFar } from '../session/message-start.ts';
import { unknownEndError } from '../session/log/ended-runs.ts';
import type { ClaimableMemory } from '../session/log/claimable-memory.ts';
import { noteRun } from '../session/log/noted-run.ts';
import { suspendedResult } from '../session/log/logged-result.ts';
import type { RunFeed } from '../session/runs/run-feed.ts';
import { onAbort } from '@isoloop/core/wait';
import { noTab, type SessionRuns, type TaskRequest } from '../session/runs/session-runs.ts';
import { callOptions, type Outputs } from '../wire/exposed-agent.ts';
import type { TabSettings } from '../session/tab-options.ts';
import type { Asker } from '../wire/protocol.ts';
import type { TabTask } from '../wire/tab-protocol.ts';
import { endEvents, takeoverEvents, takeoverGap } from './takeover-events.ts';
import { readLastRun, type LastRun } from './last-run.ts';

export interface RunTakeoverOptions {
  readonly runs: SessionRuns;
  /** Whether an earlier leader may have left an interrupted run. */
  readonly takesOver: boolean;
  readonly tabs: TabSettings;
  readonly feed: RunFeed;
  /** Outputs of the worker, by name. */
  readonly outputs: Outputs;
  /** Function that waits until it is known whether a page of another tab is connected. */
  readonly whenPagesKnown: (asker: Asker, signal: AbortSignal) => Promise<void>;
}

/** Last run of the earlier leader. The run has ended, or this leader continues it. */
interface PreviousRun {
  readonly requestId: string;
  readonly result: Promise<AgentResult>;
  readonly controller: AbortController;
  /** Messages of the log when this leader read it. */
  readonly messages: readonly Msg[];
  /** Id of the tab that requested the run. Set when the tab has repeated its request. */
  tabId?: string;
}

/**
 * Handles the runs of earlier leaders for a new leader. The leader is the tab whose worker has the
 * agent. Continues an interrupted run, or returns how a run ended.
 */
export class RunTakeover {
  /**
   * Resolves when this leader has read the interrupted run from the log and, if possible, continues
   * it. Rejects if the agent cannot be created.
   */
  readonly ready: Promise<void>;
  readonly #options: RunTakeoverOptions;
  #previousRun: PreviousRun | undefined;
  /** Result of the interrupted run, until `showEnd` sends it to the readers. */
  #endToShow: AgentResult | undefined;

  constructor(options: RunTakeoverOptions) {
    this.#options = options;
    this.ready = options.takesOver ? this.#takeOver() : Promise.resolve();
    this.ready.catch(() => {});
  }

  /**
   * Returns whether a run is active that a tab other than `tabId` requested. This includes a run
   * that this leader continues.
   */
  isBusyForOthers(tabId: string): boolean {
    const { activeTab } = this.#options.runs;
    const requester = activeTab === noTab ? (this.#previousRun?.tabId ?? noTab) : activeTab;
    return requester !== undefined && requester !== tabId;
  }

  /**
   * Runs a request. If an earlier leader started the run, returns the result of that run. Resolves
   * with `undefined` if there is nothing to resume.
   */
  async perform(request: TaskRequest): Promise<AgentResult | undefined> {
    const { runs } = this.#options;
    // Creating the agent also reads the log. If that fails, the `runs.perform` below rejects with
    // the reason.
    if (request.isResent) await runs.agent().catch(() => {});
    if (runs.log.cutOffRequestId === request.requestId) await this.#takeOver();
    if (this.#previousRun?.requestId === request.requestId) {
      const { controller, result } = this.#previousRun;
      this.#previousRun.tabId = request.tabId;
      onAbort(request.signal, () => controller.abort());
      return result;
    }
    if (runs.log.ended.has(request.requestId))
      return runs.log.ended.resultOf(request.requestId, runs.log.memory);
    return (request.isResent && this.#resultIfJoined(request.task)) || runs.perform(request);
  }

  /**
   * Returns the result of the previous run if that run has taken the messages of a request, as with
   * `whenBusy: 'inject'`.
   */
  #resultIfJoined(task: TabTask): Promise<AgentResult> | undefined {
    if (task.type !== 'run' || !this.#previousRun) return undefined;
    const { messages, result } = this.#previousRun;
    const inputIds = new Set([task.input].flat().map((item) => (Object(item) as Partial<Msg>).id));
    return messages.some(({ id }) => inputIds.has(id)) ? result : undefined;
  }

  /** Aborts a run that an earlier leader started. */
  abort(requestId: string): void {
    if (this.#previousRun?.requestId === requestId) this.#previousRun.controller.abort();
  }

  /**
   * Does not continue the interrupted run. The run stays in the log, and an agent call without
   * input can continue it later. The readers get the reason with `showEnd`.
   */
  leaveOpen(
    reason: AgentError,
    requestId: string | undefined = this.#options.feed.activeRun?.requestId,
    messages: readonly Msg[] = [],
  ): void {
    const result = suspendedResult(reason);
    const controller = new AbortController();
    if (requestId !== undefined)
      this.#previousRun = { requestId, result: Promise.resolve(result), controller, messages };
    this.#endToShow = result;
  }

  /**
   * Sends the end of an interrupted run that no tab continues to its readers. Call it after all
   * tabs know the new leader.
   */
  showEnd(): void {
    const { feed } = this.#options;
    const run = feed.activeRun;
    if (this.#endToShow && run) feed.publish(endEvents(run.events, this.#endToShow), run.requestId);
    this.#endToShow = undefined;
  }

  /**
   * Reads the last run of the earlier leader from the log. Continues the run if it was interrupted.
   */
  async #takeOver(): Promise<void> {
    const { runs, feed, tabs } = this.#options;
    await runs.agent();
    runs.log.cutOffRequestId = undefined;
    const { memory } = runs.log;
    if (!memory) return feed.endActiveRun();
    const lastRun = await readLastRun(memory);
    // Another tab leads now, and the feed has its events.
    if (runs.isOver) return undefined;
    // If the log has no data of the run that readers see, its tab requests the run again.
    if (feed.activeRun?.requestId !== lastRun.requestId) feed.endActiveRun();
    const requestId = lastRun.requestId ?? crypto.randomUUID();
    runs.log.ended.runs = lastRun.earlierRuns;
    if (lastRun.type === 'cut-off') {
      const mayContinue = lastRun.attempts < tabs.attempts || lastRun.hasAnswer;
      if (mayContinue) return this.#continueRun(memory, requestId, lastRun);
      const message = `The run's tab is gone. It was continued ${lastRun.attempts} times.`;
      return this.leaveOpen(
        new AgentError('WORKER_TERMINATED', message),
        requestId,
        lastRun.messages,
      );
    }
    const { result, messages } = lastRun;
    const controller = new AbortController();
    this.#previousRun = { requestId, result: resultOrThrow(result), controller, messages };
    this.#previousRun.result.catch(() => {});
    runs.log.ended.add(requestId, result.message.id);
    feed.publish(takeoverEvents(feed.activeRun?.events ?? [], lastRun.messages), requestId);
    this.#endToShow = result;
  }

  #continueRun(
    memory: ClaimableMemory,
    requestId: string,
    lastRun: Extract<LastRun, { readonly type: 'cut-off' }>,
  ): void {
    const { runs, feed, outputs, whenPagesKnown } = this.#options;
    const { activeRun } = feed;
    const { outputName, asker, runId } = lastRun;
    const seenEvents = activeRun?.events ?? [];
    const attempts = lastRun.attempts + 1;
    const controller = new AbortController();
    const result = runs.continueRun(controller, async (agent, onStart, onShown) => {
      let earlierStart = activeRun?.start;
      if (!earlierStart) earlierStart = await shownSoFar(agent);
      const start = { ...earlierStart, continues: true };
      const options = callOptions({ output: outputName }, controller, outputs);
      // The agent then knows the tools of this page, and whether the page is gone.
      if (asker) await whenPagesKnown(asker, controller.signal);
      const stream = agent.stream(undefined, options);
      const { runs: earlierRuns } = runs.log.ended;
      await noteRun(memory, { requestId, runId, attempts, outputName, asker, earlierRuns }, true);
      if (seenEvents.length && !runs.isOver)
        feed.publish(takeoverEvents(seenEvents, lastRun.messages), requestId);
      return runs.forward(stream, {
        requestId,
        controller,
        start,
        attempts,
        gap: takeoverGap,
        outputName,
        asker,
        onStart,
        onShown,
      });
    });
    this.#previousRun = { requestId, result, controller, messages: lastRun.messages };
  }
}

async function resultOrThrow(result: AgentResult): Promise<AgentResult> {
  if (result.reason !== 'error') return result;
  throw unknownEndError();
}
