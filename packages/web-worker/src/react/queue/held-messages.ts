import type { UIMessage } from '../chat/ui-message.ts';
import { takeLock } from '../shared/held-lock.ts';
import { clearHeld, heldKeys, type HeldPlace } from './held-place.ts';

/**
 * Messages that a page holds until its agent can take them, in their order. The storage of the
 * browser keeps them over a reload.
 */
export class HeldMessages {
  readonly #place: HeldPlace;
  /** Messages that the browser refuses to store, for example because they are too large. */
  readonly #unstored: Map<string, UIMessage> = new Map();

  constructor(place: HeldPlace) {
    this.#place = place;
  }

  list(): readonly UIMessage[] {
    const stored = heldKeys(this.#place).flatMap((key) => {
      const text = this.#place.storage?.getItem(key);
      return text ? (JSON.parse(text) as UIMessage) : [];
    });
    return [...stored, ...this.#unstored.values()];
  }

  add(message: UIMessage): void {
    const { storage, prefix } = this.#place;
    // Keys in the order of time. Two messages may come in one millisecond.
    const last = heldKeys(this.#place).at(-1)?.slice(prefix.length);
    const order = Math.max(Date.now(), Number.parseInt(last ?? '0', 10) + 1);
    try {
      storage!.setItem(`${prefix}${order} ${message.id}`, JSON.stringify(message));
    } catch {
      this.#unstored.set(message.id, message);
    }
  }

  /** Returns whether there was such a message. */
  remove(id: string): boolean {
    const key = heldKeys(this.#place).find((each) => each.endsWith(` ${id}`));
    if (key !== undefined) this.#place.storage!.removeItem(key);
    return this.#unstored.delete(id) || key !== undefined;
  }

  clear(): void {
    clearHeld(this.#place);
    this.#unstored.clear();
  }

  /** Runs the job while no other tab sends a held message. */
  async sendAlone(job: () => Promise<void>): Promise<void> {
    const { isShared, prefix } = this.#place;
    const release = isShared ? await takeLock(prefix, {}) : undefined;
    try {
      await job();
    } finally {
      release?.();
    }
  }
}
