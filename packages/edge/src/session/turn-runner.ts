import { AgentError } from '@isoloop/core';
import type { Memory, ReActAgent } from '@isoloop/core';
import { answerSoFar } from '../turn/answer-so-far.ts';
import { isAskedAgain } from '../turn/asked-again.ts';
import { entitle } from '../turn/chat-turn.ts';
import { readCall } from '../completions/completion-call.ts';
import { deferred, type Deferred } from './deferred.ts';
import { logError } from '../http/error-response.ts';
import type { HandlerSettings, SessionSetup } from '../handler-options.ts';
import type { LiveTurn } from './live-turn.ts';
import { makeAgent } from '../turn/session-agent.ts';
import { beginTurn, resumeTurn } from './session-turn.ts';
import type { NewTurn, QueuedTurn, TurnQueue } from './turn-queue.ts';

export type RunnerSettings = Pick<
  HandlerSettings,
  'agent' | 'jsonSchema' | 'limits' | 'sessions' | 'systemMessages'
>;

export interface TurnRunnerOptions {
  readonly settings: RunnerSettings;
  readonly setup: SessionSetup;
  readonly queue: TurnQueue;
  readonly memory: Memory;
  /**
   * A turn has begun or ended, or the session was given its title; none of one that was refused
   * before it could begin.
   */
  readonly onChange: (hasBegun?: boolean) => void;
  /** No turn is left. */
  readonly onRest: () => void;
}

/**
 * Runs a session's turns one after the other, each by an agent of its own; of what an isolate has
 * left behind it goes on with the first.
 */
export class TurnRunner {
  readonly #options: TurnRunnerOptions;
  /** Of the turns that somebody waits for. */
  readonly #opened: Map<number, Deferred<LiveTurn>> = new Map();
  readonly #settling: Set<Promise<void>> = new Set();
  #live: LiveTurn | undefined;
  /** The last one, if it has a key and an answer: its client may not have had it. */
  #ended: LiveTurn | undefined;
  #abort: AbortController | undefined;
  #working: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
  }

  /** The turn that runs, once it has begun. */
  get live(): LiveTurn | undefined {
    return this.#live;
  }

  /** Whether a turn runs, or what belongs to one is being written. */
  get isBusy(): boolean {
    return this.#working !== undefined || this.#settling.size > 0;
  }

  /** Throws `OVERLOADED` where no further turn may wait. */
  checkRoom(): void {
    const { queue, settings } = this.#options;
    if (queue.size <= settings.sessions.queuedTurns) return;
    throw new AgentError('OVERLOADED', 'Too many turns of the session wait; try again later.', {
      retryable: true,
      details: { retryAfterMs: 10_000 },
    });
  }

  /** Puts the turn behind those that wait, to be run by `work`. */
  add(turn: NewTurn): { readonly waits: boolean; readonly opened: Promise<LiveTurn> } {
    const { queue } = this.#options;
    const waits = queue.size > 0;
    return { waits, opened: this.#whenOpened(queue.add(turn).id) };
  }

  /** The turn that a client asks for again, if that is what it does. */
  find(asked: NewTurn): { readonly opened: Promise<LiveTurn> } | undefined {
    const again = this.#options.queue.find((turn) => isAskedAgain(asked, turn));
    if (again) {
      this.work();
      return { opened: this.#whenOpened(again.id) };
    }
    const ended = this.#ended;
    return ended && ended.turn.key === asked.key ? { opened: Promise.resolve(ended) } : undefined;
  }

  /** Goes on with what is queued; gives the turn that runs now. */
  wake(): { readonly opened: Promise<LiveTurn> } | undefined {
    const next = this.#isClosed ? undefined : this.#options.queue.first();
    if (!next) return undefined;
    this.work();
    // At once: after an await the turn may have ended.
    return { opened: this.#whenOpened(next.id) };
  }

  work(): void {
    if (this.#isClosed) return;
    this.#working ??= this.#workOff().then(
      () => this.#rest(),
      (error: unknown) => {
        // The storage failed: the next alarm or request tries again.
        this.#working = undefined;
        this.#live = undefined;
        this.#abort = undefined;
        for (const { reject } of this.#opened.values()) reject(error);
        this.#opened.clear();
        logError(error, 'turns');
      },
    );
  }

  /** Ends the turn that runs; whether there was one. */
  abort(): boolean {
    this.#abort?.abort();
    return this.#abort !== undefined;
  }

  /** Ends all turns, for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.abort();
    await this.#working;
    const { queue } = this.#options;
    for (let next = queue.first(); next; next = queue.first()) {
      this.#opened.get(next.id)?.reject(new AgentError('ABORTED', 'The session was deleted.'));
      this.#opened.delete(next.id);
      queue.remove(next.id);
    }
    await Promise.all(this.#settling);
  }

  #rest(): void {
    this.#working = undefined;
    // One may have come as the last one ended.
    if (!this.#isClosed && this.#options.queue.size) return this.work();
    if (!this.#isClosed) this.#options.onRest();
  }

  async #workOff(): Promise<void> {
    const { queue } = this.#options;
    while (!this.#isClosed) {
      const next = queue.first();
      if (!next) return;
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
      queue.remove(next.id);
    }
  }

  async #run(turn: QueuedTurn): Promise<void> {
    const { queue, memory, settings, setup } = this.#options;
    const abort = new AbortController();
    this.#abort = abort;
    // Before anything that could end the isolate.
    queue.attempt(turn.id);
    const { resumeAttempts } = settings.sessions;
    if (!turn.begun && turn.attempts > Math.max(1, resumeAttempts)) {
      throw new AgentError(
        'INTERNAL',
        `The isolate died ${turn.attempts} times before the turn could begin.`,
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
    const { queue, settings, onChange } = this.#options;
    const call = turn.call && readCall(turn.call, settings);
    call?.check(agent);
    const start = turn.begun
      ? await resumeTurn(agent, turn.turn, settings)
      : { input: await beginTurn(agent, turn.turn, settings) };
    if (!start) return;
    entitle(agent, onChange);
    queue.begin(turn.id);
    onChange(true);
    if (turn.begun && turn.attempts > settings.sessions.resumeAttempts) abort.abort();
    const isAsked = Array.isArray(start.input)
      ? start.input.some((item) => 'role' in item)
      : start.input !== undefined;
    const before = isAsked ? [] : answerSoFar(await agent.memory.read());
    const stream = agent.stream(start.input, {
      ...call?.options,
      detached: true,
      signal: abort.signal,
    });
    this.#live = { turn, agent, stream, call, before };
    this.#opened.get(turn.id)?.resolve(this.#live);
    // From now on it is `#live`.
    this.#opened.delete(turn.id);
    try {
      await stream.result;
      this.#ended = turn.key === undefined ? undefined : this.#live;
    } finally {
      onChange();
    }
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
