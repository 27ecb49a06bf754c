import type { NewTurn, QueuedTurn, TurnQueue } from './durable-queue.ts';

/** Unfinished turns of a session, in the memory of the process. They end with the process. */
export class InProcessQueue implements TurnQueue {
  #turns: readonly QueuedTurn[] = [];
  #lastId = 0;

  add(turn: NewTurn): QueuedTurn {
    const queuedTurn = { ...turn, id: ++this.#lastId, hasBegun: false, attempts: 1 };
    this.#turns = [...this.#turns, queuedTurn];
    return queuedTurn;
  }

  first(): QueuedTurn | undefined {
    return this.#turns[0];
  }

  find(isSought: (turn: QueuedTurn) => boolean): QueuedTurn | undefined {
    return this.#turns.find(isSought);
  }

  get size(): number {
    return this.#turns.length;
  }

  begin(id: number): void {
    this.#turns = this.#turns.map((turn) => (turn.id === id ? { ...turn, hasBegun: true } : turn));
  }

  /** Does nothing: a turn ends with the process, so nothing resumes it. */
  attempt(): void {}

  end(id: number): void {
    this.#turns = this.#turns.filter((turn) => turn.id !== id);
  }
}
