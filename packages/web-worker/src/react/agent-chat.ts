import { AgentError } from '@isoloop/core';
import { initialState, shownError, type AgentChatState, type Phase } from './agent-chat-state.ts';
import { RunEvents, type AgentTimelineEvent } from './agent-events.ts';
import { AnswerOrder } from './queue/answer-order.ts';
import { ChatComponents, type LatestHandlers } from './chat-components.ts';
import { LostAnswer } from './lost-answer.ts';
import { PageChanges } from './page-changes.ts';
import type { ChatQueue } from './queue/chat-queue.ts';
import { clearHeld, heldKeys, watchHeld } from './queue/held-place.ts';
import type { AgentLink } from './source/agent-source.ts';
import type { StoredSessions } from './source/agent-sessions.ts';
import { isLost } from './source/lost-connection.ts';
import { stopTurn } from './stopped-turn.ts';
import { isEqual, withChanges } from './chat/is-equal.ts';
import { Chat, type AnswerBatches, type AnswerRequest, type RequestOptions } from './chat/chat.ts';
import { toUserMessage, type MessageInput } from './chat/message-input.ts';
import { isInHistory, sentMessage, type SentMessage } from './queue/sent-message.ts';
import type { DataUIPart, UIMessage } from './chat/ui-message.ts';

/** Why a chat asks for a running answer. `check`: something may have changed. */
type Reason = Phase | 'check';

export interface AgentChatOptions {
  readonly openLink: () => AgentLink;
  /** Whether no stored conversation has this id, so that there is nothing to load. */
  readonly isNew: boolean;
  /** Messages that are shown until the history is loaded. Default: none. */
  readonly messages?: readonly UIMessage[] | undefined;
}

/**
 * Conversation on a page. It is connected while a component shows it and while it reads an answer.
 * It loads the history, resumes a running answer, and follows the runs of other tabs.
 */
export class AgentChat {
  readonly chat: Chat;
  state: AgentChatState;
  readonly #openLink: () => AgentLink;
  readonly #listeners: Set<() => void> = new Set();
  readonly #components = new ChatComponents((error) => this.#set({ error }));
  readonly #runEvents = new RunEvents();
  #link: AgentLink | undefined;
  #sent: SentMessage | undefined;
  /** The sent message when the last component left. React may enter again at once. */
  #leftMessage: UIMessage | undefined;
  /** Whether the conversation begins here, so that there is nothing to load. */
  #isNew: boolean;
  /** Lets the chat begin when this has settled. */
  #setResumed!: (resumed: void | Promise<void>) => void;
  /**
   * Settles when no stream is being resumed, so when the history is complete. A component may send
   * a message before the chat has connected, for example from an effect of a child.
   */
  #whenResumed: Promise<void> = new Promise((resolve) => (this.#setResumed = resolve));
  /** Whether a stream is being resumed, which repeats an answer from its start. */
  #isResuming = false;
  #reason: Reason = 'idle';
  readonly #pageChanges = new PageChanges({
    whenIdle: async () => {
      await this.#whenResumed;
      await this.#lostAnswer.whenRegained;
      await this.#whenIdle();
    },
    show: (runId) => this.#follow(runId),
  });
  readonly #lostAnswer = new LostAnswer({
    onBegin: () => this.#set({ phase: 'continuing' }),
    attempt: async () => {
      await this.resume('continuing');
      return this.chat.state.status !== 'error';
    },
    onEnd: () => this.#endAnswer(),
  });
  /** Settles when the stop of an answer has ended. Absent if none is being stopped. */
  #stopping: Promise<void> | undefined;
  /** Settles when the deletion of the conversation has ended or failed. */
  #deleting: Promise<unknown> | undefined;
  /** Settles when the agent answers the last request with a stream. Absent if it has. */
  #whenSent: Promise<unknown> | undefined;
  readonly #order = new AnswerOrder();
  #wantsSessions = false;
  /** Messages that wait in this page. Absent until one does. */
  #queue: ChatQueue | undefined;
  /** Becomes the queue. All messages wait for one promise, so they keep their order. */
  #whenQueue: Promise<ChatQueue | undefined> | undefined;
  #unwatchHeld: () => void = () => {};

  constructor({ openLink, isNew, messages = [] }: AgentChatOptions) {
    this.#openLink = openLink;
    this.#isNew = isNew;
    this.chat = new Chat(messages, {
      send: (request, signal) => this.#send(request, signal),
      reconnect: (signal) => this.#reconnect(signal),
      shouldSend: (shownMessages) => this.#components.shouldSend(shownMessages),
      onChange: (chat) => {
        const isLonger = chat.messages.length !== this.state.chat.messages.length;
        this.#set({ chat });
        if (isLonger) this.#showQueued();
      },
      onData: (part) => this.#take(part),
      onToolCall: (toolCall) => this.#components.tellCall(toolCall),
      onFinish: (answer) => {
        if (answer.isDisconnect) void this.#lostAnswer.regain();
        else this.#endAnswer();
        this.#components.tell(({ onFinish }) => onFinish?.(answer));
        void this.#loadSessions();
      },
    });
    this.state = initialState(isNew, messages);
  }

  /** Events of the latest runs, without prompts. Is replaced at each event. */
  get events(): readonly AgentTimelineEvent[] {
    return this.#runEvents.list;
  }

  /** Calls `listener` at each change of `state` or `events`. Returns a function that stops this. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Connects, unless another component has done so. Returns a function that leaves the chat. */
  enter(handlers: LatestHandlers): () => void {
    this.#components.add(handlers);
    if (!this.#link) this.#connect();
    else if (this.#leftMessage) this.#sent?.set(this.#leftMessage);
    return () => {
      this.#components.remove(handlers);
      if (this.#components.count === 0) this.#leaveMessage();
      // In strict mode, React leaves and enters again at once.
      queueMicrotask(() => void this.#closeIfUnused());
    };
  }

  /** Connects anew after a running answer, because the options of the link have changed. */
  async reconnect(): Promise<void> {
    if (!this.#link) return;
    await this.#whenResumed;
    await this.#whenIdle();
    if (!this.#link) return;
    this.#unwatchHeld();
    this.#link.close();
    this.#connect();
  }

  /** Loads the history, and reads a running or interrupted answer to its end. */
  resume(reason: Reason = 'loading'): Promise<void> {
    this.#reason = reason;
    if (reason !== 'check') this.#set({ phase: reason });
    this.#isResuming = true;
    this.#whenResumed = this.chat.resume().finally(() => {
      this.#isResuming = false;
      if (!this.#lostAnswer.isLost) this.#set({ phase: 'idle' });
    });
    return this.#whenResumed;
  }

  /** Calls a method of the chat when no stream is being resumed. */
  whenResumed(act: () => PromiseLike<void>): Promise<void> {
    return this.attempt(() => this.#whenResumed.then(act));
  }

  /** Makes a request when the answers to earlier messages have ended. */
  send(act: () => PromiseLike<void>): Promise<void> {
    return this.#order.add(
      () => this.#whenSettled(),
      () => this.whenResumed(act),
    );
  }

  /**
   * Sends a new message when the answers to earlier messages have ended. Until then, the browser
   * keeps it, and the page shows it in its queue.
   */
  sendMessage(input: MessageInput, options: RequestOptions = {}): Promise<void> {
    const { chat } = this;
    const isReading = chat.isBusy || this.#lostAnswer.isLost || this.#isResuming;
    if (!this.#link || (!isReading && !this.#order.unanswered))
      return this.send(() => chat.sendMessage(input, options));
    const whenHeld = Promise.all([toUserMessage(input), this.#loadQueue()]).then(
      ([message, queue]) => {
        queue?.hold(message);
        return () => queue?.send(message.id, options) ?? chat.sendMessage(message, options);
      },
    );
    return this.send(async () => {
      const sendHeld = await whenHeld;
      return sendHeld();
    });
  }

  /** Takes back a message that waits, or forgets one that has failed. */
  async withdraw(id: string): Promise<void> {
    await this.attempt(async () => {
      const link = this.#connected;
      if (!this.#queue?.remove(id)) {
        await link.withdraw?.(id);
        await link.history();
      }
      this.#showQueued();
    });
  }

  /**
   * Deletes the conversation. Returns whether it is deleted. Until then, messages that wait are not
   * sent, because the deletion ends the answer before them.
   */
  async delete(sessionId: string): Promise<boolean> {
    const deleting = this.withStored(async (stored) => {
      // The deletion must not overtake a message on its way, which would bring it back.
      await this.#whenSent;
      await stored.delete(sessionId);
      this.#forgetHeld();
      return true;
    });
    this.#deleting = deleting;
    return (await deleting) ?? false;
  }

  /**
   * Stops the answer where it runs, also one that another page has asked for. If it goes on, the
   * chat still shows it, and the failure becomes `error` of the hook.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.attempt(() => this.#stopTurn()).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  async #stopTurn(): Promise<void> {
    const { chat } = this;
    const isReplay = this.#isResuming;
    const wasLost = await stopTurn({
      chat,
      stop: async (signal) => (await this.#link?.stop(signal)) ?? false,
      whenSent: this.#whenSent,
      whenEnded: this.#lostAnswer.whenRegained.then(() => this.#whenIdle()),
      giveUp: () => {
        const { isLost: isLostNow } = this.#lostAnswer;
        this.#lostAnswer.giveUp();
        return isLostNow;
      },
    });
    // The stream may have ended before it repeated the answer so far.
    const isIncomplete = isReplay || (wasLost && (await this.#hasQuestion()));
    if (isIncomplete && this.#link) await this.resume('check');
  }

  /** Returns whether the agent has the last question. The page keeps the error of another one. */
  async #hasQuestion(): Promise<boolean> {
    const question = this.chat.state.messages.findLast(({ role }) => role === 'user');
    const history = (await this.#link?.history().catch(() => undefined)) ?? [];
    return question !== undefined && isInHistory(question, history);
  }

  /** Does something that the person asked for. A failure becomes `error` of the hook. */
  async attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
    this.#set({ error: undefined });
    try {
      return await act();
    } catch (error) {
      this.#set({ error: error as Error });
      return undefined;
    }
  }

  /** Loads the list of conversations, and keeps it up to date from now on. */
  wantSessions(): void {
    this.#wantsSessions = true;
    void this.#loadSessions();
  }

  /** Uses the stored conversations, and then loads their list again. */
  withStored<T>(job: (stored: StoredSessions) => Promise<T>): Promise<T | undefined> {
    return this.attempt(async () => {
      const result = await job(await this.#connected.sessions());
      void this.#loadSessions();
      return result;
    });
  }

  get #connected(): AgentLink {
    if (this.#link) return this.#link;
    throw new AgentError('ABORTED', 'The chat is closed.');
  }

  #connect(): void {
    this.#link = this.#openLink();
    this.#link.watch(
      (runId, isNews) => this.#pageChanges.add(runId, isNews),
      () => void this.#onDeleted(),
    );
    void this.#loadSessions();
    const { pageKey } = this.#link;
    this.#sent = pageKey ? sentMessage(pageKey) : undefined;
    const message = this.#sent?.get();
    if (message) this.#setResumed(this.#regainAnswer());
    else this.#setResumed(this.#isNew ? undefined : this.resume());
    this.#isNew = false;
    const { heldPlace } = this.#link;
    this.#unwatchHeld = watchHeld(heldPlace, () => void this.#takeHeld());
  }

  /** Shows the messages that wait, and sends those that an earlier page or another tab has left. */
  async #takeHeld(): Promise<void> {
    this.#showQueued();
    const hasHeld = this.#link && heldKeys(this.#link.heldPlace).length > 0;
    if (!this.#queue && !hasHeld) return;
    const queue = await this.#loadQueue();
    queue?.take();
  }

  #loadQueue(): Promise<ChatQueue | undefined> {
    this.#whenQueue ??= this.#openQueue();
    return this.#whenQueue;
  }

  /** Returns `undefined` if the chat is closed, or if the browser can't load the queue. */
  async #openQueue(): Promise<ChatQueue | undefined> {
    // Loaded at its first use, because most messages never wait.
    const module = await import('./queue/chat-queue.ts').catch(() => undefined);
    if (!this.#link || !module) {
      this.#whenQueue = undefined;
      return undefined;
    }
    this.#queue ??= new module.ChatQueue({
      place: this.#link.heldPlace,
      whenAnswered: (job) => this.send(job),
      send: async (message, options) => {
        await this.chat.sendMessage(message, options);
        return this.chat.state.error;
      },
      history: async () => this.#connected.history(),
      onChange: () => this.#showQueued(),
    });
    return this.#queue;
  }

  #showQueued(): void {
    const shownIds = new Set(this.chat.state.messages.map(({ id }) => id));
    const messages = [...(this.#link?.queuedMessages ?? []), ...(this.#queue?.list() ?? [])];
    const list = messages.filter(({ id, state }) => state === 'failed' || !shownIds.has(id));
    if (!isEqual(list, this.state.queued)) this.#set({ queued: list });
  }

  /** Removes the sent message from the tab, which may get another user at once. */
  #leaveMessage(): void {
    this.#leftMessage = this.#sent?.get();
    this.#sent?.forget();
  }

  async #closeIfUnused(): Promise<void> {
    // Messages that wait are sent first. Closing the link to a worker would abort the answer.
    if (this.#order.unanswered > 1) await this.#order.whenAnswered;
    if (!this.#link?.outlivesPage) await this.#whenIdle();
    if (this.#components.count || !this.#link) return;
    this.#lostAnswer.giveUp();
    const link = this.#link;
    this.#link = undefined;
    this.#unwatchHeld();
    this.#queue = undefined;
    this.#whenQueue = undefined;
    // The end of the reading is not the end of the answer.
    this.#sent?.forget();
    this.#sent = undefined;
    const whenStopped = this.chat.stop();
    // An endpoint tells other tabs when the reading has ended. A worker may never answer.
    if (link.outlivesPage) await whenStopped;
    link.close();
  }

  #set(changes: Partial<AgentChatState>): void {
    const lastError = shownError(this.state);
    this.state = withChanges(this.state, changes);
    const error = shownError(this.state);
    if (error && error !== lastError) this.#components.tell(({ onError }) => onError?.(error));
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Loads the list of conversations if a component uses it. */
  async #loadSessions(): Promise<void> {
    if (!this.#wantsSessions || !this.#link) return;
    try {
      const stored = await this.#link.sessions();
      this.#set({ sessions: await stored.list() });
    } catch (error) {
      // Otherwise the list stays as it is. The next change loads it again.
      if (isRefusal(error)) this.#set({ sessions: undefined });
    }
  }

  /** Resolves when the chat reads no answer. */
  async #whenIdle(): Promise<void> {
    while (this.chat.isBusy) await this.chat.whenIdle;
  }

  /** Resolves when the chat is at rest, and no answer is being read on or stopped. */
  async #whenSettled(): Promise<void> {
    const { whenRegained } = this.#lostAnswer;
    await this.#whenIdle();
    await whenRegained;
    // A message that waits must not be sent before the stop, which would end its answer.
    await this.#stopping;
    await this.#deleting;
    if (whenRegained !== this.#lostAnswer.whenRegained) await this.#whenSettled();
  }

  async #send(request: AnswerRequest, signal: AbortSignal): Promise<AnswerBatches> {
    this.#runEvents.beginStream();
    const link = this.#connected;
    this.#sent?.set(request.messages.at(-1)!);
    try {
      const sending = link.send(request, signal);
      this.#whenSent = sending.catch(() => {});
      return await sending.finally(() => (this.#whenSent = undefined));
    } catch (error) {
      // A tool call whose decision was refused still waits.
      if (!isLost(error) && request.messages.at(-1)?.role === 'assistant')
        this.chat.setMessages(await link.history().catch(() => this.chat.state.messages));
      throw error;
    }
  }

  /**
   * Opens the stream first and reads the history second. So an answer that ends in between is in
   * the history, and the stream replaces an answer that still runs.
   */
  async #reconnect(signal: AbortSignal): Promise<AnswerBatches | undefined> {
    const reason = this.#reason;
    this.#runEvents.beginStream();
    try {
      const link = this.#connected;
      let answer = await link.reconnect(signal);
      let messages = await link.history(this.chat.state.messages);
      if (!answer && messages.at(-1)?.role === 'user') {
        // A turn may have begun between both requests.
        answer = await link.reconnect(signal);
        messages = await link.history(messages);
      }
      const { chat } = this;
      if (this.#lostAnswer.isLost && !answer) this.#checkSent(messages);
      chat.setMessages(answer ? upToQuestion(messages) : messages);
      // An earlier page of another person may have left messages. The history tells this.
      void this.#takeHeld();
      if (!answer) return undefined;
      if (reason === 'check') this.#set({ phase: 'other-tab' });
      // In a worker, the first event shows whether the answer was cut off.
      if (reason === 'loading' && link.outlivesPage) this.#set({ phase: 'continuing' });
      return answer;
    } catch (error) {
      if (isRefusal(error)) {
        this.#forgetAll();
        this.#set({ sessions: undefined });
      }
      if (!isRefusal(error) && reason === 'check') return undefined;
      throw error;
    }
  }

  /** Drops the messages that wait in this page. */
  #forgetHeld(): void {
    this.#order.drop();
    if (this.#link) clearHeld(this.#link.heldPlace);
    this.#queue?.clear();
    this.#showQueued();
  }

  /** Drops what the chat has, because it belongs to somebody else or is deleted. */
  #forgetAll(): void {
    this.#lostAnswer.giveUp();
    this.#sent?.forget();
    this.#runEvents.clear();
    this.chat.setMessages([]);
  }

  /**
   * If the history does not have the message that this tab has sent, shows both and throws: there
   * is no answer yet.
   */
  #checkSent(history: readonly UIMessage[]): void {
    const { messages, error } = this.chat.state;
    const sent = this.#sent?.get();
    if (!sent || isInHistory(sent, history)) return;
    const earlierMessages = sent.role === 'user' ? history : upToQuestion(history);
    const index = messages.findLastIndex(({ id }) => id === sent.id);
    this.chat.setMessages([...earlierMessages, ...(index < 0 ? [sent] : messages.slice(index))]);
    throw error ?? new TypeError('The connection was lost.');
  }

  #take(part: DataUIPart): void {
    if (part.type === 'data-isoloop-event') this.#takeEvent(part.data as AgentTimelineEvent);
    else this.#components.tell(({ onData }) => onData?.(part));
  }

  #takeEvent(event: AgentTimelineEvent): void {
    const news = this.#runEvents.take(event);
    this.#notify();
    if (news === 'continues') this.#set({ phase: 'continuing' });
    else if (news && this.state.phase === 'loading') this.#set({ phase: 'other-tab' });
  }

  /** Drops a conversation that somebody has deleted or that is another person's, and looks again. */
  async #onDeleted(): Promise<void> {
    this.#forgetHeld();
    this.#forgetAll();
    await this.chat.stop();
    this.#forgetAll();
    this.chat.clearError();
    this.#set({ error: undefined, phase: 'idle' });
    this.#pageChanges.add();
    void this.#loadSessions();
  }

  async #follow(runId: string | undefined): Promise<void> {
    if (!this.#link || this.#lostAnswer.isLost) return;
    // After an error the chat may have a question that is not in the history.
    if (runId === undefined) return this.#check();
    if (this.#runEvents.hasRun(runId)) return;
    await this.resume('other-tab');
  }

  async #check(): Promise<void> {
    const { state, failedTrigger } = this.chat;
    if (state.status !== 'error') return this.resume('check');
    if (failedTrigger === 'resume-stream' && !this.#sent?.get()) return this.resume();
    // The page keeps its question and error, but only for the person whose they are.
    const refusal = await this.#link?.history().then(() => undefined, isRefusal);
    if (refusal) await this.resume('check');
  }

  #endAnswer(): void {
    this.#sent?.forget();
    this.#set({ phase: 'idle' });
  }

  /**
   * Waits for the answer to the message that this tab sent before a reload. Shows the message only
   * after the history, which tells whether the same person is logged in.
   */
  #regainAnswer(): Promise<void> {
    // A retry sends the message again.
    this.chat.failedTrigger = 'submit-message';
    return this.#lostAnswer.regain();
  }
}

/** Returns the messages up to the last question. The stream repeats the answer from its start. */
function upToQuestion(messages: readonly UIMessage[]): readonly UIMessage[] {
  return messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1);
}

/** Returns whether an endpoint does not show the conversation to this person. */
function isRefusal(error: unknown): boolean {
  const status = AgentError.is(error) && error.details?.['status'];
  return status === 401 || status === 403;
}
