import {
  AgentError,
  SessionMemory,
  type AgentEvent,
  type AgentResult,
  type AgentStream,
  type EventBatch,
  type Memory,
  type ReActAgent,
} from '@isoloop/core';
import { LeaderLog, type LeaderLogOptions } from '../log/leader-log.ts';
import type { NotedRun } from '../log/noted-run.ts';
import { timeNow, watchDeletions } from '../../store/deletions.ts';
import { nextMacrotask } from '../../wire/macrotask.ts';
import { toOutcome, type Asker, type MessageStart } from '../../wire/protocol.ts';
import { LocalAgent, type LocalAgentOptions } from '../local-agent.ts';
import { onAbort } from '@isoloop/core/wait';
import type { ActiveRun } from './active-run.ts';
import type { RunFeed } from './run-feed.ts';
import { RunQueue } from './run-queue.ts';
import { WaitGroup } from './wait-group.ts';
import type {
  CommandResult,
  TabRequestBody,
  TabOutcome,
  TabCommand,
  TabTask,
} from '../../wire/tab-protocol.ts';

/** Request of a tab, which the leader handles. */
export interface TabRequest {
  readonly requestId: string;
  readonly tabId: string;
  readonly body: TabRequestBody;
  /**
   * Signal of the requesting tab. If this worker stops leading, its runs are aborted, but not this
   * signal.
   */
  readonly signal: AbortSignal;
  /** Whether an earlier leader received this request too, and may have started its run. */
  readonly isResent?: boolean | undefined;
}

/** Request of a tab for a run. */
export interface TaskRequest extends Omit<TabRequest, 'body'> {
  readonly task: TabTask;
}

interface SessionRunsOptions
  extends Omit<LocalAgentOptions, 'onCreated' | 'isAlone'>, LeaderLogOptions {
  readonly feed: RunFeed;
}

/** Data that a leader needs to forward a run. */
interface RunForwarding {
  /** Id of the request for the run. */
  readonly requestId: string;
  readonly controller: AbortController;
  readonly start: MessageStart;
  /** Number of times that a tab has continued the run. */
  readonly attempts: number;
  /** Gap between the sequence numbers (`seq`) of the run's earlier events and its new events. */
  readonly gap: number;
  /** Name of the output that the run returns, if any. */
  readonly outputName: string | undefined;
  /** Page that asked for the run, if it is known. */
  readonly asker: Asker | undefined;
  /** Called when the run has started. */
  readonly onStart?: () => void;
  /** Called when the readers have received the first events. */
  readonly onShown?: () => void;
}

/**
 * Tab id in the queue of a run that a new leader continues. The runs of all tabs wait for this run.
 */
export const noTab = '';

/**
 * Runs of a session in this worker, while it is the leader. The leader has the agent of the session
 * and runs the requests of all tabs, one tab at a time. The data that the log stores about each run
 * lets another tab continue the run.
 */
export class SessionRuns {
  /** Id of this leader for other tabs. A worker that leads again gets a new id. */
  readonly id: string = crypto.randomUUID();
  /**
   * Called when another worker has become the writer of the log. If tabs do not share the session,
   * the requests reject with `SESSION_CONFLICT` instead.
   */
  onConflict: (() => void) | undefined;
  readonly log: LeaderLog;
  readonly #options: SessionRunsOptions;
  readonly #localAgent: LocalAgent;
  readonly #queue = new RunQueue();
  /** Requests whose runs have not started. */
  readonly #starting: WaitGroup = new WaitGroup();
  /** Requests whose readers have not received events yet. */
  readonly #unseen: WaitGroup = new WaitGroup();
  #isOver = false;
  /** Controllers of the runs that are active or wait, with the times of their requests. */
  readonly #controllers: Map<AbortController, number> = new Map();
  #unwatch: (() => void) | undefined;
  /** Active run that the log names. */
  #notedRun: NotedRun | undefined;

  constructor(options: SessionRunsOptions) {
    this.#options = options;
    this.log = new LeaderLog(options);
    this.#localAgent = new LocalAgent({
      ...options,
      isAlone: !options.isShared,
      onCreated: (agent) => this.#openLog(agent),
    });
  }

  /** Whether this worker has stopped leading. Later events are ignored. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Id of the tab whose runs are active, or `noTab` for a run that this leader continues. */
  get activeTab(): string | undefined {
    return this.#queue.activeTab;
  }

  /** Returns the agent. The first use creates it. */
  agent(): Promise<ReActAgent> {
    return this.#localAgent.agent();
  }

  /**
   * Runs a command or performs a task, and calls `resolve` with the outcome. When this worker no
   * longer leads, does not call it, because the next leader gets the request too. `perform`:
   * performs a task.
   */
  async serve(
    { body, ...request }: TabRequest,
    resolve: (outcome: TabOutcome) => void,
    perform: SessionRuns['perform'] = (taskRequest) => this.perform(taskRequest),
  ): Promise<void> {
    const outcome = await toOutcome<AgentResult | CommandResult>(
      body.type === 'command'
        ? this.runCommand(body.command)
        : perform({ ...request, task: body.task }),
    );
    if (this.#options.isShared && codeOf(outcome) === 'SESSION_CONFLICT') this.onConflict?.();
    else if (!this.#isOver) resolve(outcome);
  }

  /** Runs a request. Resolves with `undefined` if there is nothing to resume. */
  async perform({ requestId, tabId, task, signal }: TaskRequest): Promise<AgentResult | undefined> {
    if (task.type === 'resume') {
      // After a reload, several readers may ask to resume at the same time. The second request
      // waits until the first run has sent events, so that its reader can join that run. The loop
      // is needed because another request may have started during the wait.
      do await this.#unseen.whenSettled();
      while (this.#unseen.size);
      if (this.#queue.activeTab !== undefined) return undefined;
    }
    const controller = new AbortController();
    onAbort(signal, () => controller.abort());
    const [onStart, onShown] = [this.#starting.add(), this.#unseen.add()];
    const endWaits = (): void => {
      onStart();
      onShown();
    };
    const outputName = task.type === 'run' ? task.options.output : undefined;
    try {
      return await this.#runInTurn({ tabId, controller }, endWaits, async () => {
        const resumes = task.type === 'resume';
        if (!resumes) await this.#claimUnlocked();
        const forwarding = {
          requestId,
          controller,
          attempts: 0,
          gap: 0,
          outputName,
          onStart,
          onShown,
        };
        return this.#localAgent.perform(task, controller, async (stream, start) => {
          // `agent()` would wait for this run if it is aborted.
          if (resumes) await this.log.claimUnlocked();
          return this.forward(stream, { ...forwarding, start, asker: task.asker });
        });
      });
    } finally {
      endWaits();
    }
  }

  /** Runs a command when the runs of all earlier requests have started. */
  async runCommand(command: TabCommand): Promise<CommandResult> {
    if (this.#starting.size) {
      await this.#starting.whenSettled();
      // Waits for one macrotask, because separate messages would also be handled in separate
      // macrotasks.
      await nextMacrotask();
    }
    if (command.type === 'clear') await this.#claimUnlocked();
    return this.#localAgent.command(command);
  }

  /**
   * Continues the interrupted run of an earlier leader. All other runs wait for its end, commands
   * wait for its start, and requests to resume wait for its first events.
   */
  continueRun(
    controller: AbortController,
    job: (agent: ReActAgent, onStart: () => void, onShown: () => void) => Promise<AgentResult>,
  ): Promise<AgentResult> {
    const [onStart, onShown] = [this.#starting.add(), this.#unseen.add()];
    const result = this.#runInTurn(
      { tabId: noTab, controller },
      () => {},
      () => this.#localAgent.run(controller, (agent) => job(agent, onStart, onShown)),
    );
    const endWaits = (): void => {
      onStart();
      onShown();
    };
    result.then(endWaits, endWaits);
    // The requesting tab may be gone, so nobody may report this result.
    void toOutcome(result).then((outcome) => {
      if (codeOf(outcome) === 'SESSION_CONFLICT') this.onConflict?.();
    });
    return result;
  }

  /** Aborts all runs and stops leading. Resolves when the log is complete. */
  async close(): Promise<void> {
    this.#unwatch?.();
    await this.#localAgent.close();
    this.#isOver = true;
  }

  /**
   * Stops leading at once, without further writes to the log, so that another tab can continue the
   * runs.
   */
  async stepDown(): Promise<void> {
    this.#isOver = true;
    this.#unwatch?.();
    // If the memory fails, the next leader still takes the log over.
    await this.log.release().catch(() => {});
    void this.#localAgent.close();
  }

  /**
   * Publishes the events of a run at the speed of its readers. Returns the run's result. If another
   * worker has become the writer of the log, stops leading, because the readers get the events of
   * that worker.
   */
  async forward(stream: AgentStream, forwarding: RunForwarding): Promise<AgentResult> {
    const { requestId, controller, attempts, gap, outputName, asker } = forwarding;
    const { feed, pages, isShared } = this.#options;
    const { ended } = this.log;
    const { runId } = stream;
    const note = { requestId, runId, attempts, outputName, asker, earlierRuns: ended.runs };
    const offset = seqOffset(feed.activeRun, requestId, gap);
    const removeAsker = pages.setAsker(runId, asker);
    feed.onFailure(requestId, () => void stream.cancel());
    let start: MessageStart | undefined = forwarding.start;
    try {
      // The first read starts the run, before anything that waits for `onStart` continues.
      forwarding.onStart?.();
      for await (const batch of stream.batches()) {
        if (isShared && batch.some(isConflict)) this.#isOver = true;
        if (start && batch[0]?.type === 'run-start') await this.#noteRun(note);
        if (this.#isOver) continue;
        feed.publish(withOffset(batch, offset), requestId, start);
        start = undefined;
        forwarding.onShown?.();
        await feed.whenReady(requestId, controller.signal);
      }
      const result = await stream.result;
      ended.add(requestId, result.message.id);
      return result;
    } catch (error) {
      ended.add(requestId);
      await stream.cancel();
      throw error;
    } finally {
      removeAsker();
      if (this.#notedRun === note) this.#notedRun = undefined;
    }
  }

  /** Stores the data about a run that begins, unless the run that the log names is active. */
  async #noteRun(run: NotedRun): Promise<void> {
    if (this.#notedRun || this.#isOver) return;
    this.#notedRun = run;
    await this.log.note(run);
  }

  async #openLog({ memory }: ReActAgent): Promise<void> {
    if (!this.#isOver) await this.log.open(memory);
    if (!this.#isOver) return this.#watchDeletion(memory);
    await this.log.release();
    throw new AgentError('ABORTED', 'Another tab leads the session.');
  }

  /** Ends all runs when the session is deleted, also those that wait. */
  #watchDeletion(memory: Memory): void {
    if (!(memory instanceof SessionMemory)) return;
    const endRuns = async (at: number): Promise<void> => {
      // Another database may have a session with the same id.
      const isDeleted = await memory.checkDeleted().catch(() => false);
      if (!isDeleted) return;
      for (const [controller, requestedAt] of this.#controllers)
        if (requestedAt < at) controller.abort();
    };
    this.#unwatch = watchDeletions(memory.sessionId, (at) => void endRuns(at));
  }

  async #claimUnlocked(): Promise<void> {
    await this.agent();
    await this.log.claimUnlocked();
  }

  async #runInTurn<T>(
    { tabId, controller }: { readonly tabId: string; readonly controller: AbortController },
    onWait: () => void,
    job: () => Promise<T>,
  ): Promise<T> {
    const { activeTab } = this.#queue;
    if (activeTab !== undefined && activeTab !== tabId) onWait();
    this.#controllers.set(controller, timeNow());
    try {
      await this.#queue.enter(tabId, controller.signal);
    } catch (error) {
      this.#controllers.delete(controller);
      throw error;
    }
    try {
      return await job();
    } finally {
      this.#controllers.delete(controller);
      this.#queue.leave();
    }
  }
}

/** Returns what to add to the `seq` of a run's events, so that they follow those already shown. */
function seqOffset(activeRun: ActiveRun | undefined, requestId: string, gap: number): number {
  const isContinued = activeRun?.requestId === requestId;
  return isContinued && activeRun.lastEvent ? activeRun.lastEvent.seq + gap : 0;
}

function withOffset(events: EventBatch, offset: number): EventBatch {
  return offset ? events.map((event) => ({ ...event, seq: event.seq + offset })) : events;
}

function isConflict(event: AgentEvent): boolean {
  return event.type === 'error' && event.error.code === 'SESSION_CONFLICT';
}

function codeOf(outcome: TabOutcome): string | undefined {
  if (!outcome.ok) return outcome.error.code;
  return (outcome.value as Partial<AgentResult> | undefined)?.error?.code;
}
