import { AgentError } from '@isoloop/core';
import type { AgentStream, Memory, Msg, ReActAgent } from '@isoloop/core';
import { isQuestion } from '@isoloop/core/adapter';
import { toUiMessages } from '@isoloop/core/ai-sdk';
import type { UiMessage } from '@isoloop/core/ai-sdk';
import { answerSoFar } from '../../turn/answer-so-far.ts';
import { isRepeat } from '../../turn/repeated-request.ts';
import { storeTitle, readPendingCalls } from '../../turn/chat-turn.ts';
import { logError, publicError } from '../../http/error-response.ts';
import type { HandlerSettings, SessionSetup } from '../../handler-options.ts';
import { noContent } from '../command-handler.ts';
import { liveResponse, type LiveTurn } from '../live-turn.ts';
import type { Command } from '../session-command.ts';
import type { TurnInput } from '../../turn/chat-turn.ts';
import { makeAgent } from '../../turn/session-setup.ts';
import { QueuedMemory } from './queued-memory.ts';
import { beginTurn, newMessages, resumeTurn } from '../session-turn.ts';
import { unloadWhenIdle } from '../unload-when-idle.ts';
import { openAiOf } from '../turn-format.ts';
import type { FailedMessage, NewTurn, QueuedTurn, TurnQueue } from './durable-queue.ts';

export interface TurnRunnerOptions {
  /** Returns the settings for turns that begin now. */
  readonly settings: () => HandlerSettings;
  readonly setup: SessionSetup;
  readonly queue: TurnQueue;
  readonly memory: Memory;
  /**
   * Called when a turn ends, and when the session gets its title. Not called for a turn that is
   * refused before it begins.
   */
  readonly onChange: () => void;
  /** Called when the queue is empty. */
  readonly onEmpty: () => void;
}

export interface AnswerOptions {
  /** Result of `onlyAdds`. Default: false. */
  readonly addsOnly?: boolean;
  /** Called when the turn is in the queue. `isWaiting`: whether other turns are before it. */
  readonly onAdd?: (isWaiting: boolean) => Promise<void>;
}

/** Message of the user that was accepted and is not in the log, as `GET …/messages` shows it. */
export interface QueuedMessage {
  readonly id: string;
  readonly message: UiMessage;
  /** `waiting`: its turn has not begun. `failed`: its turn failed before the log had the message. */
  readonly state: 'waiting' | 'failed';
  /** Why the turn failed. */
  readonly error?: FailedMessage['error'];
}

/** Settings with which a turn began, and what aborts it. */
interface TurnContext {
  readonly abort: AbortController;
  readonly settings: HandlerSettings;
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/**
 * Runs the turns of a session one after the other, each with a new agent. After the death of an
 * isolate, `wake` resumes the first unfinished turn.
 */
export class TurnRunner {
  /** Call this after each use of the memory. See `unloadWhenIdle`. */
  readonly unloadWhenIdle: () => void;
  readonly #options: TurnRunnerOptions;
  /** Promises of the turns that a client waits for, by turn id. */
  readonly #openingTurns: Map<number, Deferred<LiveTurn>> = new Map();
  /** Pending `settled` promises of the agents of earlier turns. */
  readonly #settlingAgents: Set<Promise<void>> = new Set();
  /** Running turn. `undefined` until the turn's run has started. */
  #liveTurn: (LiveTurn & { readonly turn: QueuedTurn }) | undefined;
  /**
   * Last finished turn, if it has an idempotency key. The client asks again with this key if it did
   * not receive the answer.
   */
  #endedTurn: LiveTurn | undefined;
  #abortController: AbortController | undefined;
  #queueRun: Promise<void> | undefined;
  /** Id of the turn whose first start `add` has counted. Its client waits for its first event. */
  #countedTurnId: number | undefined;
  /** Id of the running turn if its client still learns from the status that it is refused. */
  #refusableId: number | undefined;
  /** Id of the turn that runs now. */
  #runningId: number | undefined;
  /** Whether the running turn has changed the session. */
  #hasChanged = false;
  #isClosed = false;

  constructor(options: TurnRunnerOptions) {
    this.#options = options;
    this.unloadWhenIdle = unloadWhenIdle(options.memory, () => this.isBusy);
  }

  /** Whether a turn is running, or the `settled` of an agent is pending. */
  get isBusy(): boolean {
    return this.#queueRun !== undefined || this.#settlingAgents.size > 0;
  }

  /** Whether a client reads the stream of a turn that has not begun. */
  get isAwaited(): boolean {
    return this.#openingTurns.size > 0;
  }

  /**
   * Answers a request for a turn, which it adds to the end of the queue. A repeated request gets
   * the answer of the same turn. Rejects with `OVERLOADED` if the queue is full.
   */
  async answer(
    { turn, format, inBackground = false }: Command<'turn'>,
    { addsOnly = false, onAdd }: AnswerOptions = {},
  ): Promise<Response> {
    const { queue } = this.#options;
    const settings = this.#options.settings();
    const repeated = this.#findRepeated(turn);
    if (repeated instanceof Promise && inBackground) return queuedResponse();
    if (repeated) return liveResponse(repeated, { format, settings, rejoin: {} });
    const isWaiting = this.#runningId !== undefined || this.#mustWait(turn);
    this.#checkSize();
    // One write adds the turn and counts its start.
    const { id } = queue.add(turn, isWaiting ? undefined : { hasBegun: addsOnly, attempts: 1 });
    if (!isWaiting) this.#countedTurnId = id;
    const openingTurn = isWaiting && inBackground ? undefined : this.#liveTurnOf(id);
    await onAdd?.(isWaiting).catch((error: unknown) => {
      // The client learns that its turn is refused, so the turn must not run later.
      if (this.#drop(id, error)) throw error;
    });
    this.#runQueue();
    if (!openingTurn) return queuedResponse();
    return liveResponse(isWaiting ? openingTurn : await openingTurn, { format, settings });
  }

  /** Takes a turn out of the queue unless it has begun. Returns whether it was there. */
  #drop(id: number, reason: unknown): boolean {
    const { queue } = this.#options;
    if (id === this.#runningId || !queue.find((turn) => turn.id === id)) return false;
    this.#openingTurns.get(id)?.reject(reason);
    this.#openingTurns.delete(id);
    if (this.#countedTurnId === id) this.#countedTurnId = undefined;
    if (queue.blockedId === id) queue.unblock();
    queue.end(id);
    return true;
  }

  /** Throws `OVERLOADED` if the queue is full. */
  #checkSize(): void {
    const { queue, settings } = this.#options;
    if (queue.size > settings().sessions.queuedTurns)
      throw new AgentError('OVERLOADED', 'Too many turns of the session wait; try again later.', {
        retryable: true,
        details: { retryAfterMs: 10_000 },
      });
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
    if (runningTurn && mode === 'abort') return this.#abortRun();
    const live = await runningTurn?.catch(() => undefined);
    if (reason !== undefined) live?.agent.interrupt({ mode: 'inject', messages: reason });
    return live?.agent.interrupt() ?? false;
  }

  /** Returns the conversation as the page shows it. */
  async messages(): Promise<readonly UiMessage[]> {
    const { memory } = this.#options;
    const storedMessages = await memory.read();
    const unstoredQuestions = this.#runningMessages.filter(
      (message) => isQuestion(message) && !storedMessages.some(({ id }) => id === message.id),
    );
    const pending = await readPendingCalls(memory);
    const pageMessages = toUiMessages([...storedMessages, ...unstoredQuestions], { pending });
    const lastMessage = pageMessages.at(-1);
    // The stream continues the message with this id, so a page that resumes the stream must have a
    // message with the id.
    if (this.#liveTurn && lastMessage?.role === 'assistant')
      lastMessage.id = this.#liveTurn.turn.messageId;
    this.unloadWhenIdle();
    return pageMessages;
  }

  /** Returns the messages that were accepted and are not in the log, in their order. */
  queuedMessages(): readonly QueuedMessage[] {
    const { queue } = this.#options;
    // The running turn is in `messages()` as soon as it has begun.
    const waitingTurns = queue
      .all()
      .filter(({ id, hasBegun }) => id !== this.#runningId || !(hasBegun || this.#liveTurn));
    // A failed message that was sent again keeps its entry until the log has it.
    const sentIds = new Set(queue.all().flatMap(({ request }) => newMessages(request).map(idOf)));
    const failed = queue.failedMessages().filter(({ message }) => !sentIds.has(message.id));
    return [
      ...failed.flatMap(({ message, error }) => toQueued([message], error)),
      ...waitingTurns.flatMap(({ request }) => toQueued(newMessages(request))),
    ];
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
    for (const { id } of newMessages(turn.request)) queue.forgetFailed(id);
    this.#runQueue();
    return true;
  }

  /** Resumes the queue. Returns the turn that is now running, when that has begun. */
  wake(): Promise<LiveTurn> | undefined {
    const nextTurn = this.#isClosed ? undefined : this.#nextTurn();
    if (!nextTurn) return undefined;
    this.#runQueue();
    // Gets the promise synchronously, because the turn may have ended after an `await`.
    return this.#liveTurnOf(nextTurn.id);
  }

  /** Aborts the running turn, removes all turns from the queue, and runs no further turns. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#abortRun();
    await this.#queueRun;
    const { queue } = this.#options;
    for (let firstTurn = queue.first(); firstTurn; firstTurn = queue.first()) {
      this.#openingTurns
        .get(firstTurn.id)
        ?.reject(new AgentError('ABORTED', 'The session was deleted.'));
      this.#openingTurns.delete(firstTurn.id);
      queue.end(firstTurn.id);
    }
    await Promise.all(this.#settlingAgents);
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

  /**
   * Returns the turn that runs now or next. If the first turn waits for results of tools, the first
   * turn that may bring them goes before it.
   */
  #nextTurn(): QueuedTurn | undefined {
    const { queue } = this.#options;
    const firstTurn = queue.first();
    if (this.#runningId !== undefined) return queue.find(({ id }) => id === this.#runningId);
    if (!firstTurn || firstTurn.id !== queue.blockedId) return firstTurn;
    return queue.find(({ request }) => !bringsMessage(request));
  }

  /** Returns whether a new turn waits although no turn runs. */
  #mustWait({ request }: NewTurn): boolean {
    return (
      this.#nextTurn() !== undefined || (bringsMessage(request) && this.#options.queue.size > 0)
    );
  }

  /** Starts to run the turns of the queue. Does nothing if they are running already. */
  #runQueue(): void {
    if (this.#isClosed) return;
    this.#queueRun ??= this.#runTurns().then(
      () => this.#onQueueEnd(),
      (error: unknown) => {
        // The storage failed. The next alarm or request tries again.
        this.#queueRun = undefined;
        this.#runningId = undefined;
        this.#liveTurn = undefined;
        this.#abortController = undefined;
        for (const { reject } of this.#openingTurns.values()) reject(error);
        this.#openingTurns.clear();
        logError(error, 'turns');
      },
    );
  }

  /**
   * The messages of the running turn. The log does not have them before the guards have accepted
   * them, or if the last isolate died before it wrote them.
   */
  get #runningMessages(): readonly Msg[] {
    const turn = this.#nextTurn();
    return turn && (turn.hasBegun || this.#liveTurn) ? newMessages(turn.request) : [];
  }

  #abortRun(): boolean {
    this.#abortController?.abort();
    return this.#abortController !== undefined;
  }

  #onQueueEnd(): void {
    this.#queueRun = undefined;
    // A new turn may have arrived while the last turn ended.
    if (!this.#isClosed && this.#nextTurn()) return this.#runQueue();
    if (!this.#isClosed) this.#options.onEmpty();
  }

  async #runTurns(): Promise<void> {
    while (!this.#isClosed) {
      const nextTurn = this.#nextTurn();
      if (!nextTurn) return;
      this.#runningId = nextTurn.id;
      this.#hasChanged = false;
      let failure: unknown;
      try {
        await this.#runTurn(nextTurn);
      } catch (error) {
        failure = error;
      }
      await this.#endTurn(nextTurn, failure);
    }
  }

  /** Takes the turn out of the queue. A turn that needs results of tools stays. */
  async #endTurn(turn: QueuedTurn, failure: unknown): Promise<void> {
    const { queue, onChange } = this.#options;
    const isAccepted = this.#canWait(turn);
    this.#liveTurn = undefined;
    this.#abortController = undefined;
    if (isPending(failure) && isAccepted && !this.#isClosed) {
      queue.block(turn.id);
      this.#runningId = undefined;
      return;
    }
    if (failure !== undefined) {
      logError(failure, turn.requestId);
      this.#openingTurns.get(turn.id)?.reject(failure);
    }
    await this.#keepLost(turn, failure, isAccepted);
    this.#openingTurns.get(turn.id)?.reject(new AgentError('ABORTED', 'The turn has ended.'));
    this.#openingTurns.delete(turn.id);
    queue.end(turn.id, this.#hasChanged ? Date.now() : undefined);
    this.#runningId = undefined;
    // The turn may have brought the results for which a message waits.
    if (queue.blockedId !== undefined) queue.unblock();
    if (this.#hasChanged) onChange();
  }

  /**
   * Returns whether the turn has a message that its client need not send again: the client has got
   * a status of success. OpenAI's clients send it again.
   */
  #canWait({ id, request, fields }: QueuedTurn): boolean {
    return id !== this.#refusableId && bringsMessage(request) && !fields;
  }

  /**
   * Keeps the messages of a failed turn that the log does not have, if they were accepted or have
   * failed before. Forgets earlier failures of those that the log has.
   */
  async #keepLost(
    { request, requestId }: QueuedTurn,
    failure: unknown,
    isAccepted: boolean,
  ): Promise<void> {
    const { queue, memory } = this.#options;
    const failedIds = new Set(queue.failedMessages().map(({ message }) => message.id));
    const messages = newMessages(request).filter(({ id }) => isAccepted || failedIds.has(id));
    if (failure === undefined) {
      for (const { id } of messages) queue.forgetFailed(id);
      return;
    }
    const { code, message } = publicError(AgentError.from(failure).toJSON());
    // A person has stopped the turn.
    if (!messages.length || this.#isClosed || code === 'ABORTED') return;
    const storedMessages = await memory.read().catch(() => []);
    for (const lost of messages) {
      if (storedMessages.some(({ id }) => id === lost.id)) {
        queue.forgetFailed(lost.id);
        continue;
      }
      try {
        queue.keepFailed({ message: lost, error: { code, message } });
      } catch (error) {
        logError(error, requestId);
      }
    }
  }

  async #runTurn(queuedTurn: QueuedTurn): Promise<void> {
    const { queue, memory, setup } = this.#options;
    const settings = this.#options.settings();
    const abort = new AbortController();
    this.#abortController = abort;
    const isFirst = this.#countedTurnId === queuedTurn.id;
    this.#refusableId = this.#countedTurnId;
    this.#countedTurnId = undefined;
    // Counts the attempt first, because any later operation may end the isolate.
    if (!isFirst) queue.attempt(queuedTurn.id);
    const turn = isFirst ? { ...queuedTurn, hasBegun: false, attempts: 0 } : queuedTurn;
    this.#hasChanged = turn.hasBegun;
    // A turn that has begun gets one more attempt, which only stores its input.
    const maxAttempts = Math.max(1, settings.sessions.resumeAttempts) + Number(turn.hasBegun);
    if (turn.attempts > maxAttempts) {
      const end = turn.hasBegun ? 'end' : 'begin';
      throw new AgentError(
        'INTERNAL',
        `The isolate died ${turn.attempts} times before the turn could ${end}.`,
      );
    }
    const { agent, settled } = await makeAgent(settings, { ...setup, memory, model: turn.model });
    try {
      await this.#runAgent(turn, agent, { abort, settings });
    } finally {
      if (settled) this.#trackSettling(settled());
    }
  }

  async #runAgent(
    turn: QueuedTurn,
    agent: ReActAgent,
    { abort, settings }: TurnContext,
  ): Promise<void> {
    const { queue, memory, onChange } = this.#options;
    const { fields } = turn;
    const call = fields && openAiOf(settings).readCall(fields, settings);
    call?.check(agent);
    const turnInput = await (turn.hasBegun ? resumeTurn : beginTurn)(agent, turn.request, settings);
    if (!turnInput) return;
    storeTitle(agent, onChange);
    const begin = (): void => queue.begin(turn.id);
    // Replaced messages stay in the log until the run stores its input. If the isolate dies before
    // that, the turn starts again.
    if (memory instanceof QueuedMemory)
      memory.setQueued(turnInput.replaces ? [] : newMessages(turn.request));
    if (turnInput.replaces) agent.addHook({ on: { 'pre-reasoning': begin } });
    else begin();
    this.#hasChanged = true;
    const needsModel = asksModel(turnInput.input);
    if (turn.hasBegun && turn.attempts > settings.sessions.resumeAttempts) {
      // This is the additional attempt of a turn that has begun. It only stores the input.
      // An aborted run stores no input. So a run with input is aborted before it asks the model.
      if (needsModel) agent.addHook({ on: { 'pre-reasoning': () => abort.abort() } });
      else abort.abort();
    }
    const showTurn = this.#openerOf(turn, agent);
    const earlierMessages = needsModel ? [] : await answerSoFar(agent.memory);
    const stream = agent.stream(turnInput.input, {
      ...call?.options,
      decisions: turnInput.decisions,
      detached: true,
      signal: abort.signal,
    });
    this.#liveTurn = { turn, agent, stream, call, earlierMessages };
    await this.#waitForEnd(turn, stream, showTurn);
    this.#endedTurn = turn.idempotencyKey === undefined ? undefined : this.#liveTurn;
  }

  /**
   * Returns a function that lets the clients read the turn. A message that has to wait for results
   * shows them nothing of this attempt.
   */
  #openerOf(turn: QueuedTurn, agent: ReActAgent): () => void {
    const open = (): void => {
      if (this.#liveTurn) this.#openingTurns.get(turn.id)?.resolve(this.#liveTurn);
      // `#liveTurnOf` now finds the turn in `#liveTurn`.
      this.#openingTurns.delete(turn.id);
    };
    if (this.#canWait(turn)) agent.addHook({ on: { 'pre-reasoning': open, 'pre-acting': open } });
    return open;
  }

  async #waitForEnd(turn: QueuedTurn, stream: AgentStream, open: () => void): Promise<void> {
    const canWait = this.#canWait(turn);
    if (!canWait) open();
    try {
      await stream.result;
    } catch (error) {
      if (!canWait || !isPending(error)) open();
      throw error;
    }
    open();
  }

  #trackSettling(whenSettled: Promise<void>): void {
    const settling = whenSettled
      .catch((error: unknown) => logError(error, 'settled'))
      .finally(() => this.#settlingAgents.delete(settling));
    this.#settlingAgents.add(settling);
  }

  #liveTurnOf(id: number): Promise<LiveTurn> {
    if (this.#liveTurn?.turn.id === id) return Promise.resolve(this.#liveTurn);
    const openingTurn = this.#openingTurns.get(id) ?? createDeferred<LiveTurn>();
    this.#openingTurns.set(id, openingTurn);
    return openingTurn.promise;
  }
}

/** Returns whether the turn has a new message, which open tool calls may keep from running. */
function bringsMessage({ kind }: NewTurn['request']): boolean {
  return kind === 'message' || kind === 'messages';
}

function isPending(error: unknown): boolean {
  return AgentError.is(error) && error.code === 'PENDING_TOOL_CALLS';
}

function toQueued(
  messages: readonly Msg[],
  error?: FailedMessage['error'],
): readonly QueuedMessage[] {
  return toUiMessages(messages).map((message) => ({
    id: message.id,
    message,
    ...(error ? { state: 'failed', error } : { state: 'waiting' }),
  }));
}

function idOf({ id }: Msg): string {
  return id;
}

function queuedResponse(): Response {
  return Response.json({ queued: true }, { status: 202 });
}

/** Returns whether an agent call with this input asks the model. Decisions alone do not. */
function asksModel(input: TurnInput['input']): boolean {
  return Array.isArray(input) ? input.some((item) => 'role' in item) : input !== undefined;
}

/**
 * Creates a promise with functions that settle it. The runtime does not report a rejection that
 * nobody handles.
 */
function createDeferred<T>(): Deferred<T> {
  let settle!: Omit<Deferred<T>, 'promise'>;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  promise.catch(() => {});
  return { promise, ...settle };
}
