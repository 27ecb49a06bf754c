import type { ChatModel } from '@isoloop/core';

/**
 * A promise that code under test waits for. The first wait ends with `settleLate()`, and later ones
 * never end. After `on` is set to false, a wait ends at once.
 */
export class Hang {
  readonly reached: Promise<void>;
  #reach!: () => void;
  #settle!: { resolve: (value: unknown) => void; reject: (error: unknown) => void };
  #uses = 0;
  on = true;

  constructor() {
    this.reached = new Promise((resolve) => (this.#reach = resolve));
  }

  wait = (): Promise<never> => {
    if (!this.on) return Promise.resolve(undefined as never);
    this.#uses += 1;
    this.#reach();
    if (this.#uses > 1) return new Promise(() => {});
    return new Promise((resolve, reject) => (this.#settle = { resolve: resolve as never, reject }));
  };

  settleLate(how: 'resolves' | 'rejects'): void {
    if (how === 'resolves') this.#settle.resolve(undefined);
    else this.#settle.reject(new Error('late'));
  }
}

/**
 * Returns the `stream` of a model that sends some text and then ignores its signal. `leave` is the
 * `return` method of its iterator.
 */
export const lockedModel = (
  hang: Hang['wait'],
  leave?: () => Promise<never>,
): ChatModel['stream'] =>
  function stream() {
    let reads = 0;
    return {
      [Symbol.asyncIterator]: () => ({
        async next() {
          reads += 1;
          if (reads === 1)
            return { done: false, value: [{ type: 'text', id: 't', delta: 'Half ' }] } as const;
          await hang();
          return { done: true, value: undefined };
        },
        return: leave ?? (() => Promise.resolve({ done: true, value: undefined } as never)),
      }),
    };
  };
