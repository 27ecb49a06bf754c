import type { Run } from '../agent/middleware.ts';
import { checkNewIds, eachTime, type ParsedInput } from '../event/agent-input.ts';
import type { Msg } from '../message/msg.ts';
import { abortable } from '../wait/abort.ts';
import { nextTask } from '../wait/timer-yield.ts';

/** Messages that came in together during a run. */
interface Injection {
  /** The messages before the guards. */
  readonly sentMessages: readonly Msg[];
  /** Resolves with the messages after the guards. Rejects if a guard rejects them. */
  readonly admitted: Promise<ParsedInput>;
  /**
   * The messages after the guards. `undefined` until the guards have decided. Empty if a guard
   * rejected the messages or their sender withdrew them.
   */
  messages?: readonly Msg[];
}

/** A run with the messages that wait for the next model request, in order of arrival. */
export class SteeredRun {
  readonly run: Run;
  readonly #injections: Injection[] = [];

  constructor(run: Run) {
    this.run = run;
  }

  /** Whether messages have come in, also before the guards have decided. */
  get hasMessages(): boolean {
    return this.#injections.some(({ messages }) => messages?.length !== 0);
  }

  /** Returns whether no model request has the messages. */
  isWaiting(injection: Injection): boolean {
    return this.#injections.includes(injection);
  }

  /**
   * Adds messages for the next model request. `admit` passes them through the guards. Throws
   * `INVALID_INPUT` if an id is not new. The guards reject messages if they give them a used id.
   */
  add(sentMessages: readonly Msg[], admit: () => Promise<ParsedInput>): Injection {
    const waiting = this.#injections.flatMap((earlier) => earlier.sentMessages);
    checkNewIds(sentMessages, [...this.run.messages, ...waiting]);
    const admitted = admit().then((input) => {
      checkNewIds(input.messages, this.run.messages, eachTime);
      return input;
    });
    const injection: Injection = { sentMessages, admitted };
    const accepted = admitted.catch((): Pick<ParsedInput, 'messages'> => ({ messages: [] }));
    void accepted.then(({ messages }) => {
      injection.messages ??= messages;
    });
    this.#injections.push(injection);
    return injection;
  }

  /** Waits until the guards have decided about all messages, or until the signal aborts. */
  async waitForGuards(signal: AbortSignal): Promise<void> {
    for (;;) {
      const next = this.#injections.find(({ messages }) => !messages);
      if (!next || signal.aborted) return;
      await abortable(next.admitted, signal).catch(() => {});
    }
  }

  /**
   * Appends the messages in order, up to the first one about which the guards have not decided.
   * Waits for the next task of the event loop, which is enough for guards without I/O.
   */
  async take(): Promise<void> {
    await Promise.race([this.waitForGuards(this.run.stopSignal), nextTask()]);
    const openIndex = this.#injections.findIndex(({ messages }) => !messages);
    const injections = this.#injections.splice(0, openIndex < 0 ? Infinity : openIndex);
    await this.run.log.edit({ append: injections.flatMap(({ messages = [] }) => messages) });
  }

  /**
   * Appends the messages at the end of the run if no model request has them. Waits until the guards
   * have decided, or the signal aborts.
   */
  async takeLast(injection: Injection, signal: AbortSignal): Promise<void> {
    await this.waitForGuards(signal);
    const { messages = [] } = injection;
    if (this.isWaiting(injection)) await this.run.log.edit({ append: messages });
  }
}
