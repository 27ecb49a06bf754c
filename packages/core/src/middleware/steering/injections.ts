import { checkNew, type CallInput } from '../../agent/call-input.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import type { Msg } from '../../message/msg.ts';
import { abortables } from '../../model/abortable.ts';

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
  /**
   * Whether the messages come from another agent call, which waits until the run takes or drops
   * them.
   */
  readonly isCall: boolean;
  /** Whether the run has taken the messages into the log. */
  isTaken: boolean;
}

/** Messages that came in during a run and are not in the log yet, in order of arrival. */
export class Injections {
  readonly #context: RunContext;
  readonly #steps: Steps;
  readonly #all: Injection[] = [];
  #isOpen = false;
  #onOpen!: () => void;
  readonly #opened: Promise<void> = new Promise((resolve) => (this.#onOpen = resolve));

  constructor(context: RunContext, steps: Steps) {
    this.#context = context;
    this.#steps = steps;
  }

  /** The run has accepted its own input. Only now do guards judge the messages. */
  open(): void {
    this.#isOpen = true;
    this.#onOpen();
  }

  /** Whether there are messages, judged or not. */
  get any(): boolean {
    return this.#all.some(({ messages }) => messages?.length !== 0);
  }

  /**
   * Adds messages. `admit` passes them through the guards. Messages that the model has not seen when
   * the run ends become part of the log. Throws `INVALID_INPUT` if an id is not new.
   */
  add(given: readonly Msg[], admit: () => Promise<CallInput>, isCall = false): Injection {
    const waiting = this.#all.flatMap((earlier) => earlier.given);
    checkNew(given, [...this.#context.messages, ...waiting]);
    const admitted = this.#opened.then(admit);
    const injection: Injection = { given, admitted, isCall, isTaken: false };
    const settle = (messages: readonly Msg[]): void => void (injection.messages ??= messages);
    admitted.then(
      ({ messages }) => settle(messages),
      () => settle([]),
    );
    this.#all.push(injection);
    this.#steps.beforeEnd(({ signal }) => this.#storeLast(signal));
    return injection;
  }

  /** Waits until guards have judged all messages, or until the signal aborts. */
  async judged(signal: AbortSignal): Promise<void> {
    const within = abortables(signal);
    for (;;) {
      const next = this.#all.find(({ messages }) => !messages);
      if (!next || signal.aborted) return;
      await within(next.admitted).catch(() => {});
    }
  }

  /** Removes and returns the messages in order, up to the first one that guards still judge. */
  take(): readonly Msg[] {
    const undecided = this.#all.findIndex(({ messages }) => !messages);
    return taken(this.#all.splice(0, undecided < 0 ? Infinity : undecided));
  }

  /**
   * Stores the remaining messages at the end of the run. Waits until guards have judged them or the
   * signal aborts. If the run has not accepted its own input, leaves out the messages of other agent
   * calls.
   */
  async #storeLast(signal: AbortSignal): Promise<void> {
    if (this.#isOpen) await this.judged(signal);
    const left = this.#all.splice(0).filter(({ isCall }) => this.#isOpen || !isCall);
    await this.#steps.append(taken(left));
  }
}

function taken(injections: readonly Injection[]): readonly Msg[] {
  const judged = injections.filter(({ messages }) => messages);
  for (const injection of judged) injection.isTaken = true;
  return judged.flatMap(({ messages = [] }) => messages);
}
