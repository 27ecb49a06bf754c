import type { UIMessage } from '@isoloop/core/stream';
import { takeLock } from '../shared/held-lock.ts';
import { clearHeld, heldKeys, type HeldPlace } from './held-place.ts';

/**
 * Messages that a page holds until its agent can take them, in their order. The storage of the
 * browser keeps them over a reload.
 */
export class HeldMessages {
  readonly #place: HeldPlace;
  /** Messages by key that the browser refuses to store, for example because they are too large. */
  readonly #unstored: Map<string, UIMessage> = new Map();

  constructor(place: HeldPlace) {
    this.#place = place;
  }

  list(): readonly UIMessage[] {
    return this.#keys.flatMap((key) => this.#unstored.get(key) ?? this.#storedMessage(key) ?? []);
  }

  add(message: UIMessage): void {
    const { storage, prefix } = this.#place;
    // Keys in the order of time. Two messages may come in one millisecond.
    const last = Number.parseInt(this.#keys.at(-1)?.slice(prefix.length) ?? '', 10) || 0;
    const key = `${prefix}${Math.max(Date.now(), last + 1)} ${message.id}`;
    try {
      storage!.setItem(key, JSON.stringify(message));
    } catch {
      this.#unstored.set(key, message);
    }
  }

  /** Returns whether there was such a message. */
  remove(id: string): boolean {
    const key = this.#keys.find((each) => each.endsWith(` ${id}`));
    if (key === undefined) return false;
    if (!this.#unstored.delete(key)) this.#place.storage!.removeItem(key);
    return true;
  }

  clear(): void {
    clearHeld(this.#place);
    this.#unstored.clear();
  }

  /** Runs the job while no other tab sends a held message. */
  async sendAlone(job: () => Promise<void>): Promise<void> {
    const { isShared, prefix } = this.#place;
    let release: (() => void) | undefined;
    if (isShared) release = await takeLock(prefix, {});
    try {
      await job();
    } finally {
      release?.();
    }
  }

  /** Returns all keys in the order of time. */
  get #keys(): readonly string[] {
    return [...heldKeys(this.#place), ...this.#unstored.keys()].toSorted();
  }

  /** Returns `undefined` for an entry that is no message, for example of another program. */
  #storedMessage(key: string): UIMessage | undefined {
    try {
      const message = JSON.parse(this.#place.storage!.getItem(key)!) as UIMessage | null;
      return message && key.endsWith(` ${message.id}`) && message.parts ? message : undefined;
    } catch {
      return undefined;
    }
  }
}
