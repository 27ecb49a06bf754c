import { AgentError } from '@isoloop/core';
import type { Memory, Msg, ReActAgent } from '@isoloop/core';
import { answerSoFar } from '../../turn/answer-so-far.ts';
import { isAskedAgain } from '../../turn/asked-again.ts';
import { entitle } from '../../turn/chat-turn.ts';
import { logError } from '../../http/error-response.ts';
import type { HandlerSettings, SessionSetup } from '../../handler-options.ts';
import type { LiveTurn } from '../live-turn.ts';
import type { TurnInput } from '../../turn/chat-turn.ts';
import { makeAgent } from '../../turn/session.ts';
import { QueuedMemory } from './queued-memory.ts';
import { beginTurn, newMessages, resumeTurn } from '../session-turn.ts';
import { openAiOf } from '../turn-face.ts';
import type { NewTurn, QueuedTurn, TurnList } from './turn-queue.ts';

export type RunnerSettings = Pick<
  HandlerSettings,
  'agent' | 'limits' | 'openai' | 'sessions' | 'systemMessages'
>;

export interface TurnRunnerOptions {
  readonly settings: RunnerSettings;
  readonly setup: SessionSetup;
  readonly queue: TurnList;
  readonly memory: Memory;
  /**
   * Called when a turn ends, and when the session gets its title. Not called for a turn that is
   * refused before it begins.
   */
  readonly onChange: () => void;
  /** Called when the queue is empty. */
  readonly onRest: () => void;
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/**
 * Runs the turns of a session one after the other, each with a new agent. After the death of an
 * isolate, `wake` resumes the first unfinished turn.
 */
export class TurnRunner {
  readonly #options: TurnRunnerOptions;
  /** Promises of the turns that a client waits for, by turn id. */
  readonly #opened: Map<number, Deferred<LiveTurn>> = new Map();
  /** Pending `settled` promises of the agents of earlier turns. */
  readonly #settling: Set<Promise<void>> = new Set();
  #live: LiveTurn | undefined;
  /**
   * Last finished turn, if it has an idempotency key. The client asks again with this key if it did
   * not receive the answer.
   */
  #ended: LiveTurn | undefined;
  #abort: AbortController | undefined;
  #working: Promise<void> | undefined;
  /** Id of the turn whose first start `add` has counted. */
  #counted: number | undefined;
  /** Whether the running turn has changed the session. */
  #hasChanged = false;
  #isClosed = false;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
  }

  /** Running turn. `undefined` until the turn's run has started. */
  get live(): LiveTurn | undefined {
    return this.#live;
  }

  /** Whether a turn is running, or the `settled` of an agent is pending. */
  get isBusy(): boolean {
    return this.#working !== undefined || this.#settling.size > 0;
  }

  /** Throws `OVERLOADED` if the queue is full. */
  checkRoom(): void {
    const { queue, settings } = this.#options;
    if (queue.size <= settings.sessions.queuedTurns) return;
    throw new AgentError('OVERLOADED', 'Too many turns of the session wait; try again later.', {
      retryable: true,
      details: { retryAfterMs: 10_000 },
    });
  }

  /**
   * Adds the turn to the end of the queue. `waits`: whether other turns are before it. `opened`
   * resolves when the turn begins. Call `work` afterward to run the queue. `replacesNothing`: the
   * result of `onlyAdds`.
   */
  add(
    turn: NewTurn,
    replacesNothing: boolean,
  ): { readonly waits: boolean; readonly opened: Promise<LiveTurn> } {
    const { queue } = this.#options;
    const waits = queue.size > 0;
    // One write adds the turn and counts its start.
    const started = { begun: replacesNothing, attempts: 1 };
    const { id } = queue.add(turn, waits ? undefined : started);
    if (!waits) this.#counted = id;
    return { waits, opened: this.#whenOpened(id) };
  }

  /** Returns the turn that a repeated request asks for, if there is one. */
  find(asked: NewTurn): { readonly opened: Promise<LiveTurn> } | undefined {
    const again = this.#options.queue.find((turn) => isAskedAgain(asked, turn));
    if (again) {
      this.work();
      return { opened: this.#whenOpened(again.id) };
    }
    const ended = this.#ended;
    return ended && ended.turn.key === asked.key ? { opened: Promise.resolve(ended) } : undefined;
  }

  /** Resumes the queue. Returns the first turn of the queue, which is now running. */
  wake(): { readonly opened: Promise<LiveTurn> } | undefined {
    const next = this.#isClosed ? undefined : this.#options.queue.first();
    if (!next) return undefined;
    this.work();
    // Gets the promise synchronously, because the turn may have ended after an `await`.
    return { opened: this.#whenOpened(next.id) };
  }

  /** Starts to run the turns of the queue. Does nothing if they are running already. */
  work(): void {
    if (this.#isClosed) return;
    this.#working ??= this.#workOff().then(
      () => this.#rest(),
      (error: unknown) => {
        // The storage failed. The next alarm or request tries again.
        this.#working = undefined;
        this.#live = undefined;
        this.#abort = undefined;
        for (const { reject } of this.#opened.values()) reject(error);
        this.#opened.clear();
        logError(error, 'turns');
      },
    );
  }

  /**
   * The messages of the running turn. The log does not have them before the guards have accepted
   * them, or if the last isolate died before it wrote them.
   */
  get runningMessages(): readonly Msg[] {
    const turn = this.#options.queue.first();
    return turn && (turn.begun || this.#live) ? newMessages(turn.turn) : [];
  }

  /** Aborts the running turn. Returns false if no turn is running. */
  abort(): boolean {
    this.#abort?.abort();
    return this.#abort !== undefined;
  }

  /** Aborts the running turn, removes all turns from the queue, and runs no further turns. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.abort();
    await this.#working;
    const { queue } = this.#options;
    for (let next = queue.first(); next; next = queue.first()) {
      this.#opened.get(next.id)?.reject(new AgentError('ABORTED', 'The session was deleted.'));
      this.#opened.delete(next.id);
      queue.end(next.id);
    }
    await Promise.all(this.#settling);
  }

  #rest(): void {
    this.#working = undefined;
    // A new turn may have arrived while the last turn ended.
    if (!this.#isClosed && this.#options.queue.size) return this.work();
    if (!this.#isClosed) this.#options.onRest();
  }

  async #workOff(): Promise<void> {
    const { queue, onChange } = this.#options;
    while (!this.#isClosed) {
      const next = queue.first();
      if (!next) return;
      this.#hasChanged = false;
      try {
        await this.#run(next);
      } catch (error) {
        logError(error, next.requestId);
        this.#opened.get(next.id)?.reject(error);
      }
      this.#live = undefined;
      this.#abort = undefined;
      this.#opened.get(next.id)?.reject(new AgentError('ABORTED', 'The turn has ended.'));
      this.#opened.delete(next.id);
      queue.end(next.id, this.#hasChanged ? Date.now() : undefined);
      if (this.#hasChanged) onChange();
    }
  }

  async #run(next: QueuedTurn): Promise<void> {
    const { queue, memory, settings, setup } = this.#options;
    const abort = new AbortController();
    this.#abort = abort;
    const isFirst = this.#counted === next.id;
    this.#counted = undefined;
    // Counts the attempt first, because any later operation may end the isolate.
    if (!isFirst) queue.attempt(next.id);
    const turn = isFirst ? { ...next, begun: false, attempts: 0 } : next;
    this.#hasChanged = turn.begun;
    // A turn that has begun gets one more attempt, which only stores its input.
    const allowed = Math.max(1, settings.sessions.resumeAttempts) + Number(turn.begun);
    if (turn.attempts > allowed) {
      const end = turn.begun ? 'end' : 'begin';
      throw new AgentError(
        'INTERNAL',
        `The isolate died ${turn.attempts} times before the turn could ${end}.`,
      );
    }
    const { agent, settled } = await makeAgent(settings, { ...setup, memory, model: turn.model });
    try {
      await this.#answer(turn, agent, abort);
    } finally {
      if (settled) this.#settle(settled());
    }
  }

  async #answer(turn: QueuedTurn, agent: ReActAgent, abort: AbortController): Promise<void> {
    const { queue, memory, settings, onChange } = this.#options;
    const call = turn.call && openAiOf(settings).readCall(turn.call, settings);
    call?.check(agent);
    const start = await (turn.begun ? resumeTurn : beginTurn)(agent, turn.turn, settings);
    if (!start) return;
    entitle(agent, onChange);
    const begin = (): void => queue.begin(turn.id);
    // Replaced messages stay in the log until the run stores its input. If the isolate dies before
    // that, the turn starts again.
    if (memory instanceof QueuedMemory)
      memory.setQueued(start.replaces ? [] : newMessages(turn.turn));
    if (start.replaces) agent.addHook({ on: { 'pre-reasoning': begin } });
    else begin();
    this.#hasChanged = true;
    const isAsked = isQuestion(start.input);
    if (turn.begun && turn.attempts > settings.sessions.resumeAttempts) {
      // This is the additional attempt of a turn that has begun. It only stores the input.
      // An aborted run stores no input. So a run with input is aborted before it asks the model.
      if (isAsked) agent.addHook({ on: { 'pre-reasoning': () => abort.abort() } });
      else abort.abort();
    }
    const before = isAsked ? [] : await answerSoFar(agent.memory);
    const stream = agent.stream(start.input, {
      ...call?.options,
      decisions: start.decisions,
      detached: true,
      signal: abort.signal,
    });
    this.#live = { turn, agent, stream, call, before };
    this.#opened.get(turn.id)?.resolve(this.#live);
    // `#whenOpened` now finds the turn in `#live`.
    this.#opened.delete(turn.id);
    await stream.result;
    this.#ended = turn.key === undefined ? undefined : this.#live;
  }

  #settle(settled: Promise<void>): void {
    const settling = settled
      .catch((error: unknown) => logError(error, 'settled'))
      .finally(() => this.#settling.delete(settling));
    this.#settling.add(settling);
  }

  #whenOpened(id: number): Promise<LiveTurn> {
    if (this.#live?.turn.id === id) return Promise.resolve(this.#live);
    const known = this.#opened.get(id) ?? deferred<LiveTurn>();
    this.#opened.set(id, known);
    return known.promise;
  }
}

/** Returns whether an agent call with this input asks the model. Decisions alone do not. */
function isQuestion(input: TurnInput['input']): boolean {
  return Array.isArray(input) ? input.some((item) => 'role' in item) : input !== undefined;
}

/**
 * Creates a promise with functions that settle it. The runtime does not report a rejection that
 * nobody handles.
 */
function deferred<T>(): Deferred<T> {
  let settle!: Omit<Deferred<T>, 'promise'>;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => {});
  return { promise, ...settle };
}
