import { Chat } from '@ai-sdk/react';
import { AgentError } from '@isoloop/core';
import { hasApprovalResponse } from '@isoloop/core/ai-sdk';
import type { UIMessage, UIMessageChunk } from 'ai';
import { withEvent, type AgentTimelineEvent } from './agent-events.ts';
import type { AgentLink } from './agent-source.ts';
import type { AgentSessionEntry, SessionStore } from './agent-sessions.ts';

/** What a chat does besides its own turns. */
type Phase = 'idle' | 'loading' | 'other-tab' | 'continuing';

/** Why a chat asks for a running answer. `look`: something may have changed. */
type Reason = Phase | 'look';

/** State of a chat that is not in AI SDK's `Chat`. */
export interface AgentChatState {
  readonly phase: Phase;
  readonly events: readonly AgentTimelineEvent[];
  /** Stored conversations, as soon as they are loaded. */
  readonly sessions?: readonly AgentSessionEntry[];
  /** Failure of the last action that is not a message. */
  readonly error?: Error | undefined;
}

/** Pauses before the attempts to reach an endpoint again, in milliseconds. */
const pauses = [0, 500, 1000, 2000, 4000, 8000];

/**
 * Conversation on a page. It is connected while a component shows it and while it reads an answer.
 * It loads the history, resumes a running answer, and follows the runs of other tabs.
 */
export class AgentChat {
  readonly chat: Chat<UIMessage>;
  /** Is replaced at each change. */
  state: AgentChatState;
  readonly #open: () => AgentLink;
  readonly #listeners: Set<() => void> = new Set();
  /** Ids of the runs whose events this chat has read. */
  readonly #runs: Set<string> = new Set();
  #link: AgentLink | undefined;
  /** Number of components that show the chat. */
  #users = 0;
  /**
   * Settles when no stream is being resumed. Messages wait for it, because AI SDK marks a chat as
   * ready when it finds no stream.
   */
  #resumed: Promise<void> = Promise.resolve();
  /** Whether a stream is being resumed, which repeats an answer from its start. */
  #isResuming = false;
  #reason: Reason = 'idle';
  /** Shows changes of other pages one after the other. */
  #queue: Promise<void> = Promise.resolve();
  /** Whether a look for changes is already in the queue. */
  #willLook = false;
  /** Run whose events the present stream has. */
  #run: string | undefined;
  #isRegaining = false;
  /** Settles when no lost answer is being read on, and no answer is being stopped. */
  #regained: Promise<void> = Promise.resolve();
  /** Settles when the answers to all messages so far have ended. */
  #sent: Promise<void> = Promise.resolve();
  /** Number of messages whose answers have not ended. */
  #unsent = 0;
  #wantsSessions = false;

  /** `isNew`: no stored conversation has this id, so there is nothing to load. */
  constructor(sessionId: string, open: () => AgentLink, isNew = false) {
    this.#open = open;
    this.state = { phase: isNew ? 'idle' : 'loading', events: [] };
    this.chat = new Chat<UIMessage>({
      id: sessionId,
      transport: {
        resumeStreamIsReplay: true,
        sendMessages: async (asked) => {
          this.#run = undefined;
          const { transport, history } = this.#connected;
          try {
            return await transport.sendMessages(asked);
          } catch (error) {
            // A tool call whose decision was refused still waits.
            if (asked.messages.at(-1)?.role === 'assistant')
              this.chat.messages = await history().catch(() => this.chat.messages);
            throw error;
          }
        },
        reconnectToStream: (asked) => this.#reconnect(asked),
      },
      sendAutomaticallyWhen: hasApprovalResponse,
      onData: ({ type, data }) => {
        if (type === 'data-isoloop-event') this.#take(data as AgentTimelineEvent);
      },
      onFinish: ({ isDisconnect }) => {
        if (isDisconnect) this.#regained = this.#regain();
        else this.#set({ phase: 'idle' });
        void this.#loadSessions();
      },
    });
  }

  /** Calls `listener` at each change of `state`. Returns a function that stops this. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Connects, unless another component has done so. Returns a function that leaves the chat. */
  enter(): () => void {
    this.#users += 1;
    if (!this.#link) this.#connect();
    return () => {
      this.#users -= 1;
      // In strict mode, React leaves and enters again at once.
      queueMicrotask(() => void this.#closeIfUnused());
    };
  }

  /** Connects anew after a running answer, because the options of the link have changed. */
  async reconnect(): Promise<void> {
    if (!this.#link) return;
    await this.#resumed;
    await this.#rest();
    if (!this.#link) return;
    this.#detach()?.close();
    this.#connect();
  }

  /** Loads the history, and reads a running or interrupted answer to its end. */
  resume(reason: Reason = 'loading'): Promise<void> {
    this.#reason = reason;
    if (reason !== 'look') this.#set({ phase: reason });
    this.#isResuming = true;
    this.#resumed = this.chat.resumeStream().finally(() => {
      this.#isResuming = false;
      if (!this.#isRegaining) this.#set({ phase: 'idle' });
    });
    return this.#resumed;
  }

  /** Calls a method of the chat when no stream is being resumed. */
  whenResumed(act: () => PromiseLike<void>): Promise<void> {
    return this.attempt(() => this.#resumed.then(act));
  }

  /** Sends a message when the answers to earlier messages have ended. */
  send(act: () => PromiseLike<void>): Promise<void> {
    const sent = this.#sent.then(async () => {
      await this.#rest();
      await this.#regained;
      return this.whenResumed(act);
    });
    this.#unsent += 1;
    this.#sent = sent.catch(() => {}).then(() => void (this.#unsent -= 1));
    return sent;
  }

  /** Stops the answer where it runs, also one that another page has asked for. */
  async stop(): Promise<void> {
    this.#isRegaining = false;
    // A message that waits must not be sent before the stop, which would end its answer.
    this.#regained = this.#stopNow();
    await this.#regained;
  }

  async #stopNow(): Promise<void> {
    const isReplay = this.#isResuming;
    await Promise.all([this.#regained, this.#link?.stop(), this.chat.stop()]);
    // The stream may have ended before it repeated the answer so far.
    if (isReplay && this.#link) await this.resume('look');
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
    if (this.#wantsSessions) return;
    this.#wantsSessions = true;
    void this.#loadSessions();
  }

  /** Uses the stored conversations, and then loads their list again. */
  withStore<T>(job: (store: SessionStore) => Promise<T>): Promise<T | undefined> {
    return this.attempt(async () => {
      const result = await job(await this.#connected.sessions());
      void this.#loadSessions();
      return result;
    });
  }

  get #connected(): AgentLink {
    if (this.#link) return this.#link;
    throw new AgentError('ABORTED', 'No component shows the chat.');
  }

  #connect(): void {
    this.#link = this.#open();
    this.#link.watch((runId) => this.#hear(runId));
    void this.#loadSessions();
    if (this.state.phase === 'loading' || this.chat.messages.length) void this.resume();
  }

  #detach(): AgentLink | undefined {
    const link = this.#link;
    this.#link = undefined;
    return link;
  }

  async #closeIfUnused(): Promise<void> {
    // Messages that wait are sent first. Closing the link to a worker would abort the answer.
    if (this.#unsent > 1) await this.#sent;
    if (!this.#link?.outlivesPage) await this.#rest();
    if (this.#users || !this.#link) return;
    this.#isRegaining = false;
    const link = this.#detach();
    await this.chat.stop();
    link?.close();
  }

  #set(changes: Partial<AgentChatState>): void {
    this.state = { ...this.state, ...changes };
    for (const listener of this.#listeners) listener();
  }

  /** Loads the list of conversations if a component uses it. */
  async #loadSessions(): Promise<void> {
    if (!this.#wantsSessions || !this.#link) return;
    try {
      const store = await this.#link.sessions();
      this.#set({ sessions: await store.list() });
    } catch {
      // The list stays as it is. The next change loads it again.
    }
  }

  /** Resolves when the chat reads no answer. */
  async #rest(): Promise<void> {
    while (this.chat.status === 'submitted' || this.chat.status === 'streaming')
      await new Promise<void>((resolve) => {
        const stop = this.chat['~registerStatusCallback'](() => {
          stop();
          resolve();
        });
      });
  }

  /**
   * Opens the stream first and reads the history second. So an answer that ends in between is in
   * the history, and the stream replaces an answer that still runs.
   */
  async #reconnect(
    asked: Parameters<AgentLink['transport']['reconnectToStream']>[0],
  ): Promise<ReadableStream<UIMessageChunk> | null> {
    const reason = this.#reason;
    this.#run = undefined;
    try {
      const { transport, history, outlivesPage } = this.#connected;
      let stream = await transport.reconnectToStream(asked);
      let messages = await history();
      if (!stream && messages.at(-1)?.role === 'user') {
        // A turn may have begun between both requests.
        stream = await transport.reconnectToStream(asked);
        messages = await history();
      }
      const question = this.chat.messages.findLast(({ role }) => role === 'user');
      const isLost = question && !messages.some(({ id }) => id === question.id);
      // The endpoint never got the question, so the failure to send it stays.
      if (this.#isRegaining && isLost) throw this.chat.error;
      this.chat.messages = stream ? upToQuestion(messages) : messages;
      if (stream && reason === 'look') this.#set({ phase: 'other-tab' });
      // In a worker, the first event shows whether the answer was cut off.
      if (stream && reason === 'loading' && outlivesPage) this.#set({ phase: 'continuing' });
      return stream;
    } catch (error) {
      if (reason === 'look') return null;
      throw error;
    }
  }

  #take(event: AgentTimelineEvent): void {
    const { runId, agentPath, continues = false } = event;
    this.#set({ events: withEvent(this.state.events, event) });
    if (agentPath.length > 1) return;
    this.#runs.add(runId);
    // With another id, another tab continues the run, because the tab of the run is gone.
    const isTakenOver = this.#run !== undefined && this.#run !== runId;
    if (continues || isTakenOver) this.#set({ phase: 'continuing' });
    else if (this.state.phase === 'loading') this.#set({ phase: 'other-tab' });
    this.#run = runId;
  }

  /** Shows changes of other pages when this chat is at rest. */
  #hear(runId: string | undefined): void {
    const isLook = runId === undefined;
    if (isLook && this.#willLook) return;
    this.#willLook ||= isLook;
    this.#queue = this.#queue
      .then(() => this.#resumed)
      .then(() => this.#rest())
      .then(() => {
        if (isLook) this.#willLook = false;
        return this.#follow(runId);
      });
  }

  async #follow(runId: string | undefined): Promise<void> {
    if (!this.#link || this.#isRegaining) return;
    // After an error the chat may have a question that is not in the history.
    if (runId === undefined) return this.chat.status === 'error' ? undefined : this.resume('look');
    if (this.#runs.has(runId)) return;
    await this.resume('other-tab');
  }

  /** Reads the answer on after the connection to its endpoint was lost. */
  async #regain(): Promise<void> {
    if (this.#isRegaining) return;
    this.#isRegaining = true;
    this.#set({ phase: 'continuing' });
    for (const pause of pauses) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (!this.#isRegaining) break;
      await this.resume('continuing');
      if (this.chat.status !== 'error') break;
    }
    this.#isRegaining = false;
    this.#set({ phase: 'idle' });
  }
}

/** Returns the messages up to the last question. The stream repeats the answer from its start. */
function upToQuestion(messages: UIMessage[]): UIMessage[] {
  return messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1);
}
