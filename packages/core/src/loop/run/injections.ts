import type { Msg } from '../../message/msg.ts';
import { abortables } from '../../model/abortable.ts';

/** Messages that came in together during a run. */
export interface Injection {
  readonly given: readonly Msg[];
  /** Missing while guards judge them; empty if they were rejected or withdrawn. */
  messages?: readonly Msg[];
  /** Whether the messages are those of another call, which waits for what becomes of them. */
  readonly isCall: boolean;
  /** Whether the run has taken the messages into the log. */
  isTaken: boolean;
}

interface Judging extends Injection {
  /** Resolves when guards have judged the messages. */
  readonly judged: Promise<void> | undefined;
}

/** Messages that came in during a run and are not in the log yet, in the order they came. */
export class Injections {
  #all: Judging[] = [];
  #isOpen = false;
  #onOpen!: () => void;
  /** Resolves when the run has accepted its own input. Guards judge other messages from then on. */
  readonly opened: Promise<void> = new Promise((resolve) => (this.#onOpen = resolve));

  open(): void {
    this.#isOpen = true;
    this.#onOpen();
  }

  /** Whether there are messages, judged or not. */
  get any(): boolean {
    return this.#all.some(({ messages }) => messages?.length !== 0);
  }

  /** The messages that are not in the log yet, as they came. */
  get waiting(): readonly Msg[] {
    return this.#all.flatMap(({ given }) => given);
  }

  /** Adds messages. `judging` resolves with what guards make of them; if it rejects, they are dropped. */
  add(given: readonly Msg[], judging?: Promise<readonly Msg[]>, isCall = false): Injection {
    const injection: Injection = { given, isCall, isTaken: false };
    const settle = (messages: readonly Msg[]): void => void (injection.messages ??= messages);
    if (!judging) settle(given);
    const judged = judging?.then(settle, () => settle([]));
    this.#all.push(Object.assign(injection, { judged }));
    return injection;
  }

  /** Waits until guards have judged all messages. Resolves with false if the signal is first. */
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

  /** Removes and returns the messages before the first ones that guards still judge. */
  take(): readonly Msg[] {
    const undecided = this.#all.findIndex(({ messages }) => !messages);
    return this.#taken(this.#all.splice(0, undecided < 0 ? Infinity : undecided));
  }

  /**
   * Returns the messages that are left at the end of the run, once guards have judged them or the
   * signal is raised. A run that has not accepted its own input leaves those of other calls.
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
