import { AgentError } from '@isoloop/core';
import { newMessages, pendingCallsOf, type QueuedMessage } from '@isoloop/core/host';
import {
  checkQueueSize,
  isRepeat,
  mustWait,
  nextTurn,
  type FailedMessage,
  type NewTurn,
  type QueuedTurn,
} from '../queue/turn-queue.ts';
import { forgetFailures, keepFailures, listQueued } from '../queue/queued-messages.ts';
import { isQuestion } from '@isoloop/core/message';
import { toUiMessages, type UIMessage } from '@isoloop/core/stream';
import type { LiveTurn } from '../settings/turn-format.ts';
import { logError, publicError } from '../http/error-response.ts';
import { AwaitedTurns } from './awaited-turns.ts';
import { noContent } from './command-handler.ts';
import { liveResponse } from '../answer/live-response.ts';
import type { Command } from './commands.ts';
import { unloadWhenIdle } from './unload-when-idle.ts';
import { RunningTurn, type TurnContext } from './running-turn.ts';

export interface TurnRunnerOptions extends TurnContext {
  /** Called when the queue is empty. */
  readonly onEmpty: () => void;
}

export interface AnswerOptions {
  /** Result of `onlyAdds`. Default: false. */
  readonly addsOnly?: boolean;
  /** Called when the turn is in the queue. `isWaiting`: whether other turns are before it. */
  readonly onAdd?: (isWaiting: boolean) => Promise<void>;
  /** Called if `onAdd` rejects and the queue is then empty. */
  readonly onEmptied?: () => void;
}

/**
 * Runs the turns of a session one after the other, each with a new agent. After the death of an
 * isolate, `wake` resumes the first unfinished turn.
 */
export class TurnRunner {
  /** Call this after each use of the memory. See `unloadWhenIdle`. */
  readonly unloadWhenIdle: () => void;
  readonly #options: TurnRunnerOptions;
  readonly #awaitedTurns: AwaitedTurns<LiveTurn> = new AwaitedTurns();
  /** Pending `close` promises of the agents of earlier turns. */
  readonly #closingAgents: Set<Promise<void>> = new Set();
  #runningTurn: RunningTurn | undefined;
  /** Id of a turn that was added and starts at once, until it runs. */
  #startingId: number | undefined;
  /**
   * Last finished turn, if it has an idempotency key. The client asks again with this key if it did
   * not receive the answer.
   */
  #endedTurn: LiveTurn | undefined;
  #queueRun: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
    this.unloadWhenIdle = unloadWhenIdle(options.memory, () => this.isBusy);
  }

  /** Whether a turn is running, or the `close` of an agent is pending. */
  get isBusy(): boolean {
    return this.#queueRun !== undefined || this.#closingAgents.size > 0;
  }

  /** Whether a client reads the stream of a turn that has not begun. */
  get isAwaited(): boolean {
    return this.#awaitedTurns.size > 0;
  }

  /**
   * Answers a request for a turn, which it adds to the end of the queue. A repeated request gets
   * the answer of the same turn. Rejects with `OVERLOADED` if the queue is full.
   */
  async answer(
    { turn, format, inBackground = false }: Command<'turn'>,
    { addsOnly = false, onAdd, onEmptied }: AnswerOptions = {},
  ): Promise<Response> {
    const { queue } = this.#options;
    const settings = this.#options.settings();
    const repeated = this.#findRepeated(turn);
    if (repeated instanceof Promise && inBackground) return queuedResponse();
    if (repeated) return liveResponse(repeated, { format, settings, rejoin: {} });
    const isWaiting = this.#runningTurn !== undefined || mustWait(queue, turn);
    checkQueueSize(queue, settings.sessions.queuedTurns);
    // One write adds the turn and counts its start.
    const { id } = queue.add(turn, isWaiting ? undefined : { hasBegun: addsOnly, attempts: 1 });
    if (!isWaiting) this.#startingId = id;
    const awaitedTurn = isWaiting && inBackground ? undefined : this.#liveTurnOf(id);
    await onAdd?.(isWaiting).catch((error: unknown) => {
      // The client learns that its turn is refused, so the turn must not run later.
      if (!this.#drop(id, error)) return;
      if (!queue.first()) onEmptied?.();
      throw error;
    });
    this.#runQueue();
    if (!awaitedTurn) return queuedResponse();
    if (isWaiting) return liveResponse(awaitedTurn, { format, settings });
    return liveResponse(await awaitedTurn, { format, settings });
  }

  /** Takes a turn out of the queue unless it runs. Returns whether it was there. */
  #drop(id: number, reason: unknown): boolean {
    const { queue } = this.#options;
    if (id === this.#runningTurn?.turn.id || !queue.find((turn) => turn.id === id)) return false;
    this.#awaitedTurns.reject(id, reason);
    queue.end(id);
    return true;
  }

  /** Returns the events of the running turn after the client's last one, or 204 without a turn. */
  async stream({ lastEventId, format }: Command<'stream'>): Promise<Response> {
    const live = await this.wake()?.catch(() => undefined);
    if (!live) return noContent();
    return liveResponse(live, {
      format,
      settings: this.#options.settings(),
      rejoin: { lastEventId },
    });
  }

  /**
   * Interrupts the running turn. Resolves with false if no turn is running. The user's reason goes
   * through the guards and comes after the agent's own words.
   */
  async interrupt({ mode, reason }: Command<'interrupt'>): Promise<boolean> {
    const runningTurn = this.wake();
    if (runningTurn && mode === 'abort') {
      this.#runningTurn?.abort();
      return this.#runningTurn !== undefined;
    }
    const live = await runningTurn?.catch(() => undefined);
    if (reason !== undefined) live?.agent.interrupt({ mode: 'inject', messages: reason });
    return live?.agent.interrupt() ?? false;
  }

  /** Returns the conversation as the page shows it. */
  async messages(): Promise<readonly UIMessage[]> {
    const { memory } = this.#options;
    const storedMessages = await memory.read();
    const shownTurn = this.#runningTurn?.shownTurn;
    const unstoredQuestions = (shownTurn ? newMessages(shownTurn.request) : []).filter(
      (message) => isQuestion(message) && !storedMessages.some(({ id }) => id === message.id),
    );
    const pending = await pendingCallsOf({ memory });
    const pageMessages = toUiMessages([...storedMessages, ...unstoredQuestions], { pending });
    const lastMessage = pageMessages.at(-1);
    // The stream continues the message with this id, so a page that resumes the stream must have a
    // message with the id.
    if (this.#runningTurn?.live && lastMessage?.role === 'assistant')
      lastMessage.id = this.#runningTurn.turn.messageId;
    this.unloadWhenIdle();
    return pageMessages;
  }

  /** Returns the messages that were accepted and are not in the log, in their order. */
  queuedMessages(): readonly QueuedMessage[] {
    return listQueued(this.#options.queue, this.#runningTurn?.shownTurn?.id);
  }

  /** Takes a message back that waits or has failed. Returns false if there is none with the id. */
  withdraw({ messageId }: Command<'withdraw'>): boolean {
    const { queue } = this.#options;
    const turn = queue.find(({ request }) =>
      newMessages(request).some(({ id }) => id === messageId),
    );
    if (!turn) return queue.forgetFailed(messageId);
    const reason = new AgentError('ABORTED', 'The message was withdrawn before its turn began.');
    if (!this.#drop(turn.id, reason)) return false;
    forgetFailures(queue, turn);
    this.#runQueue();
    return true;
  }

  /** Resumes the queue. Returns the turn that is now running, when that has begun. */
  wake(): Promise<LiveTurn> | undefined {
    if (this.#isClosed) return undefined;
    const turn = this.#runningTurn?.turn ?? nextTurn(this.#options.queue);
    if (!turn) return undefined;
    this.#runQueue();
    // Gets the promise synchronously, because the turn may have ended after an `await`.
    return this.#liveTurnOf(turn.id);
  }

  /** Aborts the running turn, removes all turns from the queue, and runs no further turns. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#runningTurn?.abort();
    await this.#queueRun;
    const { queue } = this.#options;
    const reason = new AgentError('ABORTED', 'The session was deleted.');
    for (let turn = queue.first(); turn; turn = queue.first()) this.#drop(turn.id, reason);
    await Promise.all(this.#closingAgents);
  }

  /** Returns the turn that a repeated request asks for, if there is one. */
  #findRepeated(newTurn: NewTurn): LiveTurn | Promise<LiveTurn> | undefined {
    const queuedTurn = this.#options.queue.find((turn) => isRepeat(turn, newTurn));
    if (!queuedTurn)
      return this.#endedTurn?.turn.idempotencyKey === newTurn.idempotencyKey
        ? this.#endedTurn
        : undefined;
    this.#runQueue();
    return this.#liveTurnOf(queuedTurn.id);
  }

  /** Starts to run the turns of the queue. Does nothing if they are running already. */
  #runQueue(): void {
    if (this.#isClosed) return;
    this.#queueRun ??= this.#runTurns().then(
      () => this.#onQueueEnd(),
      (error: unknown) => {
        // The storage failed. The next alarm or request tries again.
        this.#queueRun = undefined;
        this.#runningTurn = undefined;
        this.#awaitedTurns.rejectAll(error);
        logError(error, 'turns');
      },
    );
  }

  #onQueueEnd(): void {
    this.#queueRun = undefined;
    if (this.#isClosed) return;
    // A new turn may have arrived while the last turn ended.
    if (nextTurn(this.#options.queue)) this.#runQueue();
    else this.#options.onEmpty();
  }

  async #runTurns(): Promise<void> {
    while (!this.#isClosed) {
      const turn = nextTurn(this.#options.queue);
      if (!turn) return;
      const runningTurn = this.#start(turn);
      this.#runningTurn = runningTurn;
      let failure: unknown;
      try {
        await runningTurn.run();
      } catch (error) {
        failure = error;
      }
      await this.#end(runningTurn, failure);
    }
  }

  #start(turn: QueuedTurn): RunningTurn {
    const startsAtOnce = this.#startingId === turn.id;
    this.#startingId = undefined;
    return new RunningTurn(turn, startsAtOnce, {
      ...this.#options,
      onOpen: (live) => this.#awaitedTurns.resolve(turn.id, live),
      onClosing: (whenClosed) => {
        const closing = whenClosed
          .catch((error: unknown) => logError(error, 'close'))
          .finally(() => this.#closingAgents.delete(closing));
        this.#closingAgents.add(closing);
      },
    });
  }

  /** Takes the turn out of the queue. A turn that needs results of tools stays. */
  async #end(runningTurn: RunningTurn, failure: unknown): Promise<void> {
    const { queue, onChange } = this.#options;
    const { turn, live, isAccepted, hasChanged } = runningTurn;
    if (isPending(failure) && isAccepted) {
      queue.block(turn.id);
      this.#runningTurn = undefined;
      return;
    }
    if (live) this.#awaitedTurns.resolve(turn.id, live);
    if (failure === undefined) {
      forgetFailures(queue, turn);
      if (live) this.#endedTurn = turn.idempotencyKey === undefined ? undefined : live;
    } else {
      logError(failure, turn.requestId);
      await keepFailures(this.#options, {
        turn,
        isAccepted,
        error: shownFailure(failure),
        onLost: (error) => logError(error, turn.requestId),
      });
    }
    this.#awaitedTurns.reject(turn.id, failure ?? new AgentError('ABORTED', 'The turn has ended.'));
    queue.end(turn.id, hasChanged ? Date.now() : undefined);
    this.#runningTurn = undefined;
    if (hasChanged) onChange();
  }

  /** Returns a turn of the queue, when it has begun. */
  #liveTurnOf(id: number): Promise<LiveTurn> {
    const { turn, live } = this.#runningTurn ?? {};
    return live && turn?.id === id ? Promise.resolve(live) : this.#awaitedTurns.wait(id);
  }
}

function isPending(error: unknown): boolean {
  return AgentError.is(error) && error.code === 'PENDING_TOOL_CALLS';
}

/** Returns the error as the user may see it. */
function shownFailure(failure: unknown): FailedMessage['error'] {
  const { code, message } = publicError(AgentError.from(failure).toJSON());
  return { code, message };
}

function queuedResponse(): Response {
  return Response.json({ queued: true }, { status: 202 });
}
