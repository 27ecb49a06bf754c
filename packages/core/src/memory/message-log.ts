import type { Msg } from '../message/msg.ts';
import { inRequestOrder, orderFrom, settledIn } from '../message/tool-pairs.ts';

/** Messages in the order in which they were appended, and in the order in which they are read. */
export class MessageLog {
  #appended: Msg[] = [];
  /** The last result of `messages`. Empty after a message was removed or replaced. */
  #ordered: readonly Msg[] = [];
  /** Number of messages at the start of `#ordered` that need no further look. */
  #settled = 0;

  /** The messages in the order in which they were appended. */
  get appended(): readonly Msg[] {
    return this.#appended;
  }

  /** The messages; each tool result directly follows its tool call. */
  get messages(): readonly Msg[] {
    const known = this.#ordered.length;
    if (known < this.#appended.length) {
      const all = [...this.#ordered, ...this.#appended.slice(known)];
      this.#ordered = orderFrom(all, this.#settled, inRequestOrder);
      this.#settled = settledIn(this.#ordered, this.#settled);
    }
    return this.#ordered;
  }

  append(message: Msg): void {
    this.#appended.push(message);
  }

  /** Replaces the message that has the same id. */
  replace(message: Msg): void {
    this.#edit(this.#appended.map((one) => (one.id === message.id ? message : one)));
  }

  /** Removes messages, and returns them. */
  remove(ids: ReadonlySet<string>): readonly Msg[] {
    const removed = this.#appended.filter(({ id }) => ids.has(id));
    this.#edit(this.#appended.filter(({ id }) => !ids.has(id)));
    return removed;
  }

  #edit(messages: Msg[]): void {
    this.#appended = messages;
    this.#ordered = [];
    this.#settled = 0;
  }
}
