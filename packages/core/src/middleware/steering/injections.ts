import type { Msg } from '../../message/msg.ts';
import { abortables } from '../../model/abortable.ts';

/** Messages that came in together during a run. */
export interface Injection {
  /** The messages before the guards. */
  readonly given: readonly Msg[];
  /**
   * The messages after the guards. `undefined` while guards judge the messages. Empty if a guard
   * rejected them or their sender withdrew them.
   */
  messages?: readonly Msg[];
  /**
   * Whether the messages come from another agent call, which waits until the run takes or drops
   * them.
   */
  readonly isCall: boolean;
  /** Whether the run has taken the messages into the log. */
  isTaken: boolean;
}

interface Judging extends Injection {
  /** Resolves when guards have judged the messages. `undefined` if the agent has no guards. */
  readonly judged: Promise<void> | undefined;
}

/** Messages that came in during a run and are not in the log yet, in order of arrival. */
export class Injections {
  #all: Judging[] = [];
  #isOpen = false;
  #onOpen!: () => void;
  /**
   * Resolves when the run has accepted its own input. Only then do guards judge injected messages.
   */
  readonly opened: Promise<void> = new Promise((resolve) => (this.#onOpen = resolve));

  open(): void {
    this.#isOpen = true;
    this.#onOpen();
  }

  /** Whether there are messages, judged or not. */
  get any(): boolean {
    return this.#all.some(({ messages }) => messages?.length !== 0);
  }

  /** The messages that are not in the log yet, before the guards. */
  get waiting(): readonly Msg[] {
    return this.#all.flatMap(({ given }) => given);
  }

  /**
   * Adds messages. `judging` resolves with the messages after the guards. If `judging` rejects, the
   * messages are dropped.
   */
  add(given: readonly Msg[], judging?: Promise<readonly Msg[]>, isCall = false): Injection {
    const injection: Injection = { given, isCall, isTaken: false };
    const settle = (messages: readonly Msg[]): void => void (injection.messages ??= messages);
    if (!judging) settle(given);
    const judged = judging?.then(settle, () => settle([]));
    this.#all.push(Object.assign(injection, { judged }));
    return injection;
  }

  /**
   * Resolves with true when guards have judged all messages, or with false if the signal aborts
   * first.
   */
  async judged(signal: AbortSignal): Promise<boolean> {
    const within = abortables(signal);
    try {
      for (;;) {
        const next = this.#all.find(({ messages }) => !messages);
        if (!next) return true;
        await within(next.judged!);
      }
    } catch {
      return false;
    }
  }

  /** Removes and returns the messages in order, up to the first one that guards still judge. */
  take(): readonly Msg[] {
    const undecided = this.#all.findIndex(({ messages }) => !messages);
    return this.#taken(this.#all.splice(0, undecided < 0 ? Infinity : undecided));
  }

  /**
   * Removes and returns the remaining messages at the end of the run. Waits until guards have
   * judged them or the signal aborts. If the run has not accepted its own input, leaves out the
   * messages of other agent calls.
   */
  async takeLast(signal: AbortSignal): Promise<readonly Msg[]> {
    if (this.#isOpen) await this.judged(signal);
    return this.#taken(this.#all.splice(0).filter(({ isCall }) => this.#isOpen || !isCall));
  }

  #taken(injections: readonly Injection[]): readonly Msg[] {
    const judged = injections.filter(({ messages }) => messages);
    for (const injection of judged) injection.isTaken = true;
    return judged.flatMap(({ messages = [] }) => messages);
  }
}
