import { checkNew, type CallInput } from '../../event/call-input.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import type { Msg } from '../../message/msg.ts';
import { abortable } from '../../wait/wait.ts';

/** Messages that came in together during a run. */
export interface Injection {
  /** The messages before the guards. */
  readonly given: readonly Msg[];
  /** Resolves with the messages after the guards. Rejects if a guard rejects them. */
  readonly admitted: Promise<CallInput>;
  /**
   * The messages after the guards. `undefined` while guards judge the messages. Empty if a guard
   * rejected them or their sender withdrew them.
   */
  messages?: readonly Msg[];
  /** Whether the run has taken the messages into the log. */
  isTaken: boolean;
}

/** A run with the messages that came in and are not in the log yet, in order of arrival. */
export class SteeredRun {
  readonly context: RunContext;
  readonly steps: Steps;
  readonly #injections: Injection[] = [];

  constructor(context: RunContext, steps: Steps) {
    this.context = context;
    this.steps = steps;
  }

  /** Whether messages have come in, judged or not. */
  get hasMessages(): boolean {
    return this.#injections.some(({ messages }) => messages?.length !== 0);
  }

  /**
   * Adds messages. `admit` passes them through the guards. If the run ends before the model gets
   * them, they only become part of the log. Throws `INVALID_INPUT` if an id is not new.
   */
  add(given: readonly Msg[], admit: () => Promise<CallInput>): Injection {
    const waiting = this.#injections.flatMap((earlier) => earlier.given);
    checkNew(given, [...this.context.messages, ...waiting]);
    const admitted = admit();
    const injection: Injection = { given, admitted, isTaken: false };
    const settle = (messages: readonly Msg[]): void => void (injection.messages ??= messages);
    admitted.then(
      ({ messages }) => settle(messages),
      () => settle([]),
    );
    this.#injections.push(injection);
    this.steps.beforeEnd(({ signal }) => this.#takeLast(signal));
    return injection;
  }

  /** Waits until guards have judged all messages, or until the signal aborts. */
  async judged(signal: AbortSignal): Promise<void> {
    for (;;) {
      const next = this.#injections.find(({ messages }) => !messages);
      if (!next || signal.aborted) return;
      await abortable(next.admitted, signal).catch(() => {});
    }
  }

  /**
   * Appends the messages in order, up to the first one that guards still judge. Waits one turn of
   * the event loop, which is enough for guards without I/O.
   */
  async take(): Promise<void> {
    const oneTurn = new Promise((resolve) => setTimeout(resolve));
    await Promise.race([this.judged(this.context.stopSignal), oneTurn]);
    const open = this.#injections.findIndex(({ messages }) => !messages);
    await this.#append(this.#injections.splice(0, open < 0 ? Infinity : open));
  }

  /**
   * Appends the remaining messages at the end of the run. Waits until guards have judged them or the
   * signal aborts.
   */
  async #takeLast(signal: AbortSignal): Promise<void> {
    await this.judged(signal);
    await this.#append(this.#injections.splice(0).filter(({ messages }) => messages));
  }

  async #append(judged: readonly Injection[]): Promise<void> {
    for (const injection of judged) injection.isTaken = true;
    await this.steps.edit({ append: judged.flatMap(({ messages = [] }) => messages) });
  }
}
