import type { AgentResult, AgentStream, EventBatch } from '@isoloop/core';
import type { ChatTurn } from './chat-turn.ts';

/** Who is given a turn's batches: the end of a port. */
export interface TurnReader {
  add(batch: EventBatch): void;
  /** Resolves when it may be given another batch. */
  ready(): Promise<void>;
  onFailure: (() => void) | undefined;
}

type Forward = (turn: ChatTurn, open: () => AgentStream) => Promise<AgentResult>;

/** A chat's turn while it runs: each reader gets it from its start, and the fastest sets the pace. */
export class LiveTurn {
  readonly #controller: AbortController = new AbortController();
  readonly #batches: EventBatch[] = [];
  readonly #readers: Set<TurnReader> = new Set();
  readonly #begun: Promise<ChatTurn | undefined>;
  readonly #done: Promise<AgentResult | undefined>;
  #joined: (() => void) | undefined;
  /** Readers that have not left, also those that wait for the turn to begin. */
  #count = 0;

  /** Runs the turn at once. A job that gives `undefined` and forwards nothing: there is none, and its readers get nothing. */
  constructor(job: (controller: AbortController, forward: Forward) => Promise<AgentResult | undefined>) {
    let begin: (turn: ChatTurn) => void;
    const begun = new Promise<ChatTurn>((resolve) => (begin = resolve));
    this.#done = job(this.#controller, async (turn, open) => {
      begin(turn);
      return this.#forward(open());
    });
    // A turn that fails before it begins.
    this.#begun = Promise.race([begun, this.#done.then(() => undefined)]);
    this.#begun.catch(() => {});
    this.#done.catch(() => {});
  }

  /** Settles with the turn, or at once where its reader leaves: a signal aborts the turn, unless `aborts` says that just its reader is gone. */
  async read(reader: TurnReader, begin: (turn: ChatTurn) => void, signal: AbortSignal, aborts: () => boolean): Promise<AgentResult> {
    let isHere = true;
    let letGo: (() => void) | undefined;
    const gone = new Promise<undefined>((resolve) => (letGo = () => resolve(undefined)));
    this.#count += 1;
    const leave = (): void => {
      if (isHere) this.#count -= 1;
      isHere = false;
      this.#readers.delete(reader);
      letGo?.();
    };
    const onAbort = (): void => {
      if (aborts()) this.#controller.abort(signal.reason);
      else leave();
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    try {
      const turn = await Promise.race([this.#begun, gone]);
      if (turn && isHere) this.#join(reader, begin, turn);
      return (await Promise.race([this.#done, gone])) as AgentResult;
    } finally {
      signal.removeEventListener('abort', onAbort);
      leave();
    }
  }

  /** Whether nobody reads it any more: it waits then. */
  get isLeft(): boolean {
    return !this.#count;
  }

  abort(): void {
    this.#controller.abort();
  }

  #join(reader: TurnReader, begin: (turn: ChatTurn) => void, turn: ChatTurn): void {
    begin(turn);
    for (const batch of this.#batches) reader.add(batch);
    this.#readers.add(reader);
    this.#joined?.();
  }

  async #forward(stream: AgentStream): Promise<AgentResult> {
    const { signal } = this.#controller;
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    try {
      for await (const batch of stream.batches()) {
        this.#batches.push(batch);
        for (const reader of this.#readers) {
          reader.onFailure = () => void stream.cancel();
          reader.add(batch);
        }
        if (!signal.aborted) await this.#paced(aborted);
      }
    } catch (error) {
      await stream.cancel();
      throw error;
    }
    return stream.result;
  }

  /** Resolves when any reader can take more. */
  async #paced(aborted: Promise<void>): Promise<void> {
    for (let waits = true; waits;) {
      const joined = new Promise<true>((resolve) => (this.#joined = () => resolve(true)));
      const ready = [...this.#readers].map((reader) => reader.ready().then(() => false));
      waits = await Promise.race([...ready, joined, aborted.then(() => false)]);
    }
  }
}
