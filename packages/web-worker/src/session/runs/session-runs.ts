import { AgentError } from '@isoloop/core';
import type { AgentEvent, AgentResult, AgentStream, EventBatch, ReActAgent } from '@isoloop/core';
import { isCutOff } from '@isoloop/core/adapter';
import { EndedRuns } from '../log/ended-runs.ts';
import { claimedJournal, notedRun, noteRun, type Journal, type NotedRun } from '../log/journal.ts';
import { resultOf } from '../log/logged-result.ts';
import { nextMacrotask } from '../../wire/macrotask.ts';
import { toOutcome } from '../../wire/outcome.ts';
import { AgentSession, type AgentSessionOptions } from '../agent-session.ts';
import { answerQuestion, doWork } from '../session-work.ts';
import { RunQueue } from './run-queue.ts';
import type { RunReaders } from './run-readers.ts';
import { WaitGroup } from './wait-group.ts';
import type { ShownTurn } from '../../wire/shown-turn.ts';
import type { Outputs } from '../../wire/exposed-agent.ts';
import type {
  TabAnswer,
  TabAsked,
  TabOutcome,
  TabQuestion,
  TabWork,
} from '../../wire/tab-protocol.ts';

/** A request for a run. */
export interface Job {
  readonly id: string;
  /** Id of the tab that requested the run. */
  readonly owner: string;
  readonly work: TabWork;
  /** Signal of the requesting tab. The end of a term aborts its runs, but not this signal. */
  readonly signal: AbortSignal;
}

/** A request for a run, or a question. */
export interface Request extends Omit<Job, 'work'> {
  readonly asked: TabAsked;
}

export interface SessionRunsOptions extends Omit<AgentSessionOptions, 'onBuilt' | 'alone'> {
  /**
   * Whether tabs may share the session. If so, runs are recorded in the log, and earlier leaders
   * are shut out of it.
   */
  readonly shared: boolean;
  /** Whether an earlier leader may have left an interrupted run, which this term continues. */
  readonly takesOver: boolean;
  readonly readers: RunReaders;
  /** The worker's outputs, by name. */
  readonly outputs: Outputs;
}

/** A run whose events go to the readers. */
export interface Course {
  readonly id: string;
  readonly controller: AbortController;
  readonly turn: ShownTurn;
  readonly attempts: number;
  /** Gap between the sequence numbers of the run's earlier events and these. */
  readonly gap: number;
  readonly output: string | undefined;
  readonly onStart?: () => void;
  readonly onShown?: () => void;
}

/** Owner of a continued run in the queue: the runs of all tabs wait for it. */
export const nobody = '';

/**
 * One worker's term as the place where a session's runs take place. It has the agent. Calls of
 * several tabs run here one tab at a time. The log's note of each run lets another tab continue it.
 */
export class SessionRuns {
  /** Id of the term. */
  readonly id: string = crypto.randomUUID();
  /** Sends shown events to other tabs. */
  onTold: ((events: EventBatch, work: string, turn?: ShownTurn) => void) | undefined;
  /**
   * Called when another writer has claimed the log. Without tabs, the callers get the error
   * instead.
   */
  onConflict: (() => void) | undefined;
  /** The session's last ended runs, including runs of earlier terms. */
  readonly ended: EndedRuns = new EndedRuns();
  /** Request id of the interrupted run in the log, until another run starts. */
  cutOff: string | undefined;
  /** The log, once the agent is built and if the log can be shared. */
  journal: Journal | undefined;
  readonly #options: SessionRunsOptions;
  readonly #session: AgentSession;
  readonly #queue = new RunQueue();
  /** Requests that have not started. */
  readonly #starting: WaitGroup = new WaitGroup();
  /** Requests whose readers have received nothing yet. */
  readonly #unseen: WaitGroup = new WaitGroup();
  #over = false;
  /** Number of runs that have started and not ended. */
  #running = 0;

  constructor(options: SessionRunsOptions) {
    this.#options = options;
    this.#session = new AgentSession({
      ...options,
      alone: !options.shared,
      onBuilt: (agent) => this.#claim(agent),
    });
  }

  /** Whether the term has ended. Later events do not count. */
  get over(): boolean {
    return this.#over;
  }

  /** Id of the tab whose runs are active; `nobody` for a continued run. */
  get owner(): string | undefined {
    return this.#queue.owner;
  }

  /** Returns the agent, which it builds if needed. */
  agent(): Promise<ReActAgent> {
    return this.#session.agent();
  }

  /**
   * Settles a request with its outcome. Settles nothing after the term ends, because the next
   * leader has the request too.
   */
  async settle(
    answer: Promise<AgentResult | TabAnswer>,
    settle: (outcome: TabOutcome) => void,
  ): Promise<void> {
    const outcome = await toOutcome(answer);
    if (this.#options.shared && codeOf(outcome) === 'SESSION_CONFLICT') this.onConflict?.();
    else if (!this.#over) settle(outcome);
  }

  serve({ asked, ...job }: Request): Promise<AgentResult | TabAnswer> {
    return asked.type === 'ask'
      ? this.answer(asked.question)
      : this.perform({ ...job, work: asked.work });
  }

  /** Runs a request. Returns nothing if there was nothing to resume. */
  async perform({ id, owner, work, signal }: Job): Promise<AgentResult | undefined> {
    if (work.type === 'resume') {
      // After a reload several readers may ask at once. The second must hear of the first one's run
      // before its answer. Another waiting request may have started meanwhile.
      do await this.#unseen.settled();
      while (this.#unseen.size);
      if (this.#queue.owner !== undefined) return undefined;
    }
    const controller = new AbortController();
    onAbort(signal, () => controller.abort());
    const [onStart, onShown] = [this.#starting.add(), this.#unseen.add()];
    const output = work.type === 'run' ? work.options.output : undefined;
    try {
      return await this.#inTurn(
        { owner, controller },
        () => {
          onStart();
          onShown();
        },
        () =>
          doWork(this.#session, work, controller, this.#options.outputs, (stream, turn) =>
            this.forward(stream, {
              id,
              controller,
              turn,
              attempts: 0,
              gap: 0,
              output,
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

  /** Continues a run that no tab owns. All other runs wait for its end, questions for its start. */
  goOn(
    controller: AbortController,
    job: (agent: ReActAgent, onStart: () => void) => Promise<AgentResult>,
  ): Promise<AgentResult> {
    const onStart = this.#starting.add();
    const result = this.#inTurn(
      { owner: nobody, controller },
      () => {},
      () => this.#session.run(controller, (agent) => job(agent, onStart)),
    );
    result.then(onStart, onStart);
    return result;
  }

  /** Ends the term, aborts its runs and leaves the log in order. */
  async close(): Promise<void> {
    await this.#session.close();
    this.#over = true;
  }

  /** Ends the term at once and writes nothing more, so that another tab can continue. */
  async stepDown(): Promise<void> {
    this.#over = true;
    await this.journal?.release();
    void this.#session.close();
  }

  /** Shows events to the readers of all tabs. */
  tell(events: EventBatch, work: string, turn?: ShownTurn): void {
    if (this.#over) return;
    this.#options.readers.show(events, work, turn);
    this.onTold?.(events, work, turn);
  }

  /** Drives a run at its reader's pace and sends its events to all tabs. */
  async forward(stream: AgentStream, course: Course): Promise<AgentResult> {
    const { id: work, turn, attempts, gap, output, controller, onStart, onShown } = course;
    const { readers, shared } = this.#options;
    const { mirror } = readers;
    const earlier = this.ended.runs;
    const noted: NotedRun = { work, run: stream.runId, attempts, output, earlier };
    const batches = stream.batches()[Symbol.asyncIterator]();
    const last = mirror.work === work ? mirror.events.at(-1) : undefined;
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
        if (shared && value.some(isConflict)) this.#over = true;
        if (this.#over) continue;
        if (!begun && value[0]?.type === 'run-start' && this.#running === 0) {
          counts = true;
          this.#running += 1;
          if (this.cutOff !== undefined) this.ended.add(this.cutOff);
          this.cutOff = undefined;
          if (this.journal) await noteRun(this.journal, noted);
        }
        this.tell(
          offset ? value.map((event) => ({ ...event, seq: event.seq + offset })) : value,
          work,
          begun ? undefined : turn,
        );
        onShown?.();
        await readers.paced(work, controller.signal);
      }
      const result = await stream.result;
      this.ended.add(work, result.message.id);
      return result;
    } catch (error) {
      this.ended.add(work);
      await stream.cancel();
      throw error;
    } finally {
      if (counts) this.#running -= 1;
    }
  }

  async #claim({ memory }: ReActAgent): Promise<void> {
    if (this.#options.shared && !this.#over)
      this.journal = await claimedJournal(memory, this.#options.takesOver);
    if (!this.#over) return this.#lookBack();
    await this.journal?.release();
    throw new AgentError('ABORTED', 'Another tab leads the session.');
  }

  /** Reads how earlier runs ended, for tabs that request them again. */
  async #lookBack(): Promise<void> {
    if (this.#options.takesOver || !this.journal) return;
    const view = await this.journal.view();
    const noted = notedRun(view);
    if (!noted) return;
    this.ended.take(noted.earlier ?? []);
    if (view.openRun === noted.run && isCutOff(view)) this.cutOff = noted.work;
    else this.ended.add(noted.work, resultOf(view).message.id);
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
}

/** Calls the listener when the signal aborts; at once if it has. */
export function onAbort(signal: AbortSignal, listener: () => void): void {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener);
}

function isConflict(event: AgentEvent): boolean {
  return event.type === 'error' && event.error.code === 'SESSION_CONFLICT';
}

function codeOf(outcome: TabOutcome): string | undefined {
  if (!outcome.ok) return outcome.error.code;
  return (outcome.value as Partial<AgentResult> | undefined)?.error?.code;
}
