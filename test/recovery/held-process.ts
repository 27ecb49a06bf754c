import { MemoryStore, type KeyValueStore } from '@isoloop/core';
import { makeWitness, MortalProcess, type Witness } from '../faults/mortal-process.ts';

export interface HeldProcessOptions {
  /** Store of the conversation. Default: a new `MemoryStore`. */
  readonly store?: KeyValueStore;
  readonly witness?: Witness;
  /** Index of the point at which the process waits. Default: it does not wait. */
  readonly holdAt?: number;
}

/**
 * Process that waits at one point, until the test lets it continue or kills it. The points are
 * those of `MortalProcess` and those that the test adds. Points count only after `watch`.
 */
export class HeldProcess extends MortalProcess {
  readonly #holdAt: number;
  readonly #released: Promise<void>;
  #release!: () => void;
  readonly #started: Promise<void>;
  #start!: () => void;
  readonly #ended: Promise<never>;
  #end!: (reason: Error) => void;
  #isWatched = false;
  #isDead = false;
  #isHeld = false;

  constructor({
    store = new MemoryStore(),
    witness = makeWitness(),
    holdAt = Infinity,
  }: HeldProcessOptions = {}) {
    super(store, witness, { generation: 0 });
    this.#holdAt = holdAt;
    this.#released = new Promise((resolve) => (this.#release = resolve));
    this.#started = new Promise((resolve) => (this.#start = resolve));
    this.#ended = new Promise((_resolve, reject) => (this.#end = reject));
    this.#ended.catch(() => {});
  }

  /** Whether the process has reached the point at which it waits. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Begins to count the points. The first one waits for `start`. */
  watch(): void {
    this.#isWatched = true;
  }

  start(): void {
    this.#start();
  }

  release(): void {
    this.#release();
  }

  /** Ends the process. Everything that it awaits at a point stays pending until `end`. */
  die(): void {
    this.#isDead = true;
    this.#release();
  }

  /**
   * Lets everything that the dead process awaits at a point fail, so that its runs end. Call it at
   * the end of a test whose engine does not end with the process.
   */
  end(): void {
    this.die();
    this.#end(new Error('The process has died.'));
  }

  override async point(name: string): Promise<void> {
    if (this.#isWatched) await this.#count(name);
    if (this.#isDead) await this.#ended;
  }

  async #count(name: string): Promise<void> {
    const index = this.points.push(name) - 1;
    if (index === 0) await this.#started;
    if (index < this.#holdAt) return;
    this.#isHeld = true;
    await this.#released;
  }
}
