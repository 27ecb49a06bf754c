import { AgentError } from '@isoloop/core';
import type { AgentResult } from '@isoloop/core';
import { fromOutcome } from '../wire/outcome.ts';
import type { RunReader, RunReaders } from './run-readers.ts';
import type { TabAnswer, TabAsked, TabOutcome } from '../wire/tab-protocol.ts';

/** What a page waits for. It is given to each new leader anew, until one says what became of it. */
export interface Wait {
  readonly id: string;
  readonly asked: TabAsked;
  readonly controller: AbortController;
  readonly settle: (outcome: TabOutcome) => void;
  readonly settled: Promise<TabOutcome>;
  /** The reign it was given to. */
  givenTo: string | undefined;
}

export interface WaitOptions {
  readonly asked: TabAsked;
  readonly controller: AbortController;
  /** Of the run that is asked for. */
  readonly reader?: RunReader;
  /** The reader is. */
  readonly gone?: AbortSignal;
}

/** What the pages of a worker wait for in one session. */
export class Waits {
  readonly #waits: Map<string, Wait> = new Map();
  readonly #readers: RunReaders;

  constructor(readers: RunReaders) {
    this.#readers = readers;
  }

  get size(): number {
    return this.#waits.size;
  }

  [Symbol.iterator](): IterableIterator<Wait> {
    return this.#waits.values();
  }

  /** One more, which `give` takes to the leader. */
  async add(
    { asked, controller, reader, gone }: WaitOptions,
    give: (wait: Wait) => void,
  ): Promise<AgentResult | TabAnswer> {
    const id = crypto.randomUUID();
    let settle!: Wait['settle'];
    const settled = new Promise<TabOutcome>((resolve) => (settle = resolve));
    const wait: Wait = { id, asked, controller, settle, settled, givenTo: undefined };
    this.#waits.set(id, wait);
    const leave = reader && this.#readers.own(id, reader);
    const onGone = (): void => this.#readers.leave(id);
    if (gone?.aborted) onGone();
    gone?.addEventListener('abort', onGone);
    give(wait);
    try {
      return fromOutcome(await settled);
    } finally {
      this.#waits.delete(id);
      leave?.();
    }
  }

  settle(id: string, outcome: TabOutcome): void {
    this.#waits.get(id)?.settle(outcome);
  }

  abort(id: string): void {
    this.#waits.get(id)?.controller.abort();
  }

  abortAll(): void {
    for (const { controller } of this) controller.abort();
  }

  /**
   * A run whose readers have all left gives way to what is asked next, instead of holding it up.
   */
  abortLeft(): void {
    for (const { id, controller } of this) if (this.#readers.isLeft(id)) controller.abort();
  }

  /** Resolves when it is known of each of them what became of it. */
  async settled(): Promise<void> {
    await Promise.all([...this].map(({ settled }) => settled));
  }

  /** No leader will say anything any more. */
  close(): void {
    const error = new AgentError('ABORTED', 'The session was closed.').toJSON();
    for (const { settle } of this) settle({ ok: false, error });
  }
}
