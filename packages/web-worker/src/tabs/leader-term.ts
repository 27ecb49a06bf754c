import { AgentError } from '@isoloop/core';
import type { AgentResult, AgentStream, EventBatch, ReActAgent } from '@isoloop/core';
import { isCutOff } from '@isoloop/core/adapter';
import { AgentSession, type AgentSessionOptions } from '../session/agent-session.ts';
import { callOptions } from '../wire/call-options.ts';
import { shownSoFar } from '../session/chat-turn.ts';
import type { ShownTurn } from '../wire/shown-turn.ts';
import type { Outputs } from '../wire/exposed-agent.ts';
import { takeoverOf } from './takeover/takeover.ts';
import { EndedRuns, endUnknown } from './takeover/ended-runs.ts';
import {
  claimedJournal,
  notedRun,
  noteRun,
  type Journal,
  type NotedRun,
} from './takeover/journal.ts';
import { nextMacrotask } from '../wire/macrotask.ts';
import {
  ending,
  leftOpen,
  resultOf,
  takeoverEvents,
  takeoverGap,
} from './takeover/takeover-events.ts';
import type { RunReaders } from './run-readers.ts';
import { answerQuestion, doWork } from '../session/session-work.ts';
import { WaitGroup } from './wait-group.ts';
import type { TabAnswer, TabQuestion, TabWork } from '../wire/tab-protocol.ts';
import { RunQueue } from './run-queue.ts';

/** A tab's request for a run. */
export interface Job {
  readonly id: string;
  /** Id of the tab. */
  readonly owner: string;
  readonly work: TabWork;
  /** An earlier leader received it, and may have started it. */
  readonly again?: boolean | undefined;
  /** Signal of the requesting tab. The end of a term aborts its runs, but not this signal. */
  readonly signal: AbortSignal;
}

export interface LeaderTermOptions extends Omit<AgentSessionOptions, 'onBuilt' | 'alone'> {
  /**
   * Whether tabs share the session. If so, the leader records runs in the log and shuts earlier
   * leaders out of it.
   */
  readonly shared: boolean;
  /** Whether an earlier leader may have left an interrupted run. */
  readonly takesOver: boolean;
  readonly attempts: number;
  readonly readers: RunReaders;
  /** The worker's outputs, by name. */
  readonly outputs: Outputs;
  /** Sends events to the readers of all tabs. */
  readonly tell: (events: EventBatch, work: string, turn?: ShownTurn) => void;
}

/** The earlier leader's last run: its result, or its continuation. */
interface PreviousRun {
  readonly work: string;
  readonly result: Promise<AgentResult>;
  readonly controller: AbortController;
  /** The tab that requested it, once it has repeated its request. */
  owner?: string;
}

interface Course {
  readonly id: string;
  readonly controller: AbortController;
  readonly turn: ShownTurn;
  readonly attempts: number;
  readonly output: string | undefined;
  readonly onStart?: () => void;
  readonly onShown?: () => void;
}

/** Owner of a continued run in the queue: the runs of all tabs wait for it. */
const nobody = '';

/**
 * One worker's term as leader of a session. It has the agent. All tabs' calls run here, one tab at
 * a time.
 */
export class LeaderTerm {
  readonly id: string = crypto.randomUUID();
  /**
   * Resolves when the interrupted run's fate is known. Rejects if the agent cannot be built for it.
   */
  readonly ready: Promise<void>;
  readonly #options: LeaderTermOptions;
  readonly #session: AgentSession;
  readonly #queue = new RunQueue();
  /** Requests that have not started. */
  readonly #starting: WaitGroup = new WaitGroup();
  /** Requests whose readers have received nothing yet. */
  readonly #unseen: WaitGroup = new WaitGroup();
  #previousRun: PreviousRun | undefined;
  /** End of the interrupted run, until its readers know it. */
  #untold: AgentResult | undefined;
  #journal: Journal | undefined;
  readonly #ended = new EndedRuns();
  /** Request id of the interrupted run in the log, until another run starts. */
  #cutOff: string | undefined;
  #over = false;
  /** Number of runs that have started and not ended. */
  #running = 0;

  constructor(options: LeaderTermOptions) {
    this.#options = options;
    this.#session = new AgentSession({
      ...options,
      alone: !options.shared,
      onBuilt: (agent) => this.#claim(agent),
    });
    this.ready = options.takesOver ? this.#takeOver() : Promise.resolve();
    this.ready.catch(() => {});
  }

  /** Whether the term has ended. Later events do not count. */
  get over(): boolean {
    return this.#over;
  }

  /** Whether another tab's call or a continued run is active. */
  isBusyFor(other: string): boolean {
    const owner =
      this.#queue.owner === nobody ? (this.#previousRun?.owner ?? nobody) : this.#queue.owner;
    return owner !== undefined && owner !== other;
  }

  /**
   * Runs a request. If an earlier leader started it, returns that run's result. Returns nothing if
   * there was nothing to resume.
   */
  async perform(job: Job): Promise<AgentResult | undefined> {
    // Building the agent reads the log. If it fails, the call reports the reason below.
    if (job.again) await this.#session.agent().catch(() => {});
    if (this.#cutOff === job.id) await this.#takeOver();
    if (this.#previousRun?.work === job.id) {
      const { controller, result } = this.#previousRun;
      this.#previousRun.owner = job.owner;
      onAbort(job.signal, () => controller.abort());
      return result;
    }
    if (this.#ended.has(job.id)) return this.#ended.resultOf(job.id, this.#journal);
    if (job.work.type === 'resume') {
      // After a reload several readers may ask at once. The second must hear of the first one's run
      // before its answer. Another waiting request may have started meanwhile.
      do await this.#unseen.settled();
      while (this.#unseen.size);
      if (this.#queue.owner !== undefined) return undefined;
    }
    const controller = new AbortController();
    onAbort(job.signal, () => controller.abort());
    const [onStart, onShown] = [this.#starting.add(), this.#unseen.add()];
    try {
      return await this.#inTurn(
        { owner: job.owner, controller },
        () => {
          onStart();
          onShown();
        },
        () =>
          doWork(this.#session, job.work, controller, this.#options.outputs, (stream, turn) =>
            this.#forward(stream, {
              id: job.id,
              controller,
              turn,
              attempts: 0,
              output: outputOf(job.work),
              onStart,
              onShown,
            }),
          ),
      );
    } finally {
      onStart();
      onShown();
    }
  }

  /** Answers a question after all earlier requests have started. */
  async answer(question: TabQuestion): Promise<TabAnswer> {
    if (this.#starting.size) {
      await this.#starting.settled();
      // Gives each request a turn of the event loop, as separate messages would have.
      await nextMacrotask();
    }
    return answerQuestion(this.#session, question);
  }

  /** Aborts a run that an earlier leader started. */
  abort(work: string): void {
    if (this.#previousRun?.work === work) this.#previousRun.controller.abort();
  }

  /** Ends the term, aborts its runs and leaves the log in order. */
  async close(): Promise<void> {
    await this.#session.close();
    this.#over = true;
  }

  /** Ends the term at once and writes nothing more, so that another tab can continue. */
  async stepDown(): Promise<void> {
    this.#over = true;
    await this.#journal?.release();
    void this.#session.close();
  }

  /**
   * Leaves the interrupted run in the log, for a call without input. Its readers get the reason.
   */
  leaveOpen(
    reason: AgentError,
    work: string | undefined = this.#options.readers.mirror.work,
  ): void {
    const left = leftOpen(reason);
    const result = Promise.resolve(left);
    if (work !== undefined) this.#previousRun = { work, result, controller: new AbortController() };
    this.#untold = left;
  }

  /**
   * Ends the readers' stream of an interrupted run that nobody continues. Call it after all tabs
   * know the leader.
   */
  tellEnd(): void {
    const { readers, tell } = this.#options;
    const { work, events } = readers.mirror;
    if (this.#untold && work !== undefined) tell(ending([...events], this.#untold), work);
    this.#untold = undefined;
  }

  async #claim({ memory }: ReActAgent): Promise<void> {
    if (this.#options.shared && !this.#over)
      this.#journal = await claimedJournal(memory, this.#options.takesOver);
    if (!this.#over) return this.#lookBack();
    await this.#journal?.release();
    throw new AgentError('ABORTED', 'Another tab leads the session.');
  }

  /** Reads how earlier runs ended, for tabs that request them again. */
  async #lookBack(): Promise<void> {
    if (this.#options.takesOver || !this.#journal) return;
    const view = await this.#journal.view();
    const noted = notedRun(view);
    if (!noted) return;
    this.#ended.take(noted.earlier ?? []);
    if (view.openRun === noted.run && isCutOff(view)) this.#cutOff = noted.work;
    else this.#ended.add(noted.work, resultOf(view).message.id);
  }

  async #inTurn<T>(
    { owner, controller }: { readonly owner: string; readonly controller: AbortController },
    onWait: () => void,
    job: () => Promise<T>,
  ): Promise<T> {
    if (![undefined, owner].includes(this.#queue.owner)) onWait();
    await this.#queue.enter(owner, controller.signal);
    try {
      return await job();
    } finally {
      this.#queue.leave();
    }
  }

  /** Looks for an interrupted run and continues it. */
  async #takeOver(): Promise<void> {
    const { readers, attempts, outputs, tell } = this.#options;
    const { mirror } = readers;
    const agent = await this.#session.agent();
    const journal = this.#journal;
    this.#cutOff = undefined;
    if (!journal) return readers.forget();
    const left = await takeoverOf(journal);
    // If nothing of a run is in the log, its tab requests it again.
    if (mirror.work !== left.work) readers.forget();
    const work = left.work ?? crypto.randomUUID();
    this.#ended.take(left.earlier);
    const seen = [...mirror.events];
    const controller = new AbortController();
    if (left.type === 'ended') {
      const { result } = left;
      this.#previousRun = { work, result: endedRun(result), controller };
      this.#previousRun.result.catch(() => {});
      this.#ended.add(work, result.message.id);
      tell(takeoverEvents(seen, left.messages), work);
      this.#untold = result;
      return;
    }
    const attempt = left.attempts + 1;
    if (attempt > attempts && !left.hasAnswer) {
      return this.leaveOpen(
        new AgentError(
          'WORKER_TERMINATED',
          `The run's tab is gone. It was continued ${attempt - 1} times.`,
        ),
        work,
      );
    }
    const onStart = this.#starting.add();
    const goOn = async (): Promise<AgentResult> => {
      const turn = seen.length ? mirror.turn : await shownSoFar(agent);
      const { output } = left;
      const stream = agent.stream(
        undefined,
        callOptions({ ...(output !== undefined && { output }) }, controller, outputs),
      );
      const noted = { work, run: left.run, attempts: attempt, output, earlier: this.#ended.runs };
      await noteRun(journal, noted, true);
      if (seen.length) tell(takeoverEvents(seen, left.messages), work);
      return this.#forward(stream, {
        id: work,
        controller,
        turn,
        attempts: attempt,
        output,
        onStart,
      });
    };
    const result = this.#inTurn(
      { owner: nobody, controller },
      () => {},
      () => this.#session.run(controller, goOn),
    );
    result.then(onStart, onStart);
    this.#previousRun = { work, result, controller };
  }

  /** Drives a run at its reader's pace and sends its events to all tabs. */
  async #forward(stream: AgentStream, course: Course): Promise<AgentResult> {
    const { id: work, turn, attempts, output, controller, onStart, onShown } = course;
    const { readers, tell } = this.#options;
    const { mirror } = readers;
    const earlier = this.#ended.runs;
    const noted: NotedRun = { work, run: stream.runId, attempts, output, earlier };
    const batches = stream.batches()[Symbol.asyncIterator]();
    const last = mirror.work === work ? mirror.events.at(-1) : undefined;
    const gap = attempts ? takeoverGap : 0;
    const offset = last ? last.seq + gap : 0;
    readers.onFailure(work, () => void stream.cancel());
    let counts = false;
    try {
      for (let begun = false; ; begun = true) {
        const reading = batches.next();
        onStart?.();
        const { done, value } = await reading;
        if (done) break;
        // This leader was shut out of the log. Its readers get the next leader's run.
        if (
          value.some((event) => event.type === 'error' && event.error.code === 'SESSION_CONFLICT')
        )
          this.#over = true;
        if (this.#over) continue;
        if (!begun && value[0]?.type === 'run-start' && this.#running === 0) {
          counts = true;
          this.#running += 1;
          if (this.#cutOff !== undefined) this.#ended.add(this.#cutOff);
          this.#cutOff = undefined;
          if (this.#journal) await noteRun(this.#journal, noted);
        }
        tell(
          offset ? value.map((event) => ({ ...event, seq: event.seq + offset })) : value,
          work,
          begun ? undefined : turn,
        );
        onShown?.();
        await readers.paced(work, controller.signal);
      }
      const result = await stream.result;
      this.#ended.add(work, result.message.id);
      return result;
    } catch (error) {
      this.#ended.add(work);
      await stream.cancel();
      throw error;
    } finally {
      if (counts) this.#running -= 1;
    }
  }
}

function outputOf(work: TabWork): string | undefined {
  return work.type === 'run' ? work.options.output : undefined;
}

async function endedRun(result: AgentResult): Promise<AgentResult> {
  if (result.reason !== 'error') return result;
  throw endUnknown();
}

function onAbort(signal: AbortSignal, listener: () => void): void {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener);
}
