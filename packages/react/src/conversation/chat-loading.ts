import type { UIMessage } from '@isoloop/core/stream';
import type { AnswerBatches } from '@isoloop/core/host';
import { isInHistory } from '../queue/sent-message.ts';
import { upToQuestion } from '../reading/shown-messages.ts';
import { isRefusal } from '../source/lost-connection.ts';
import type { ChatConnection } from './chat-connection.ts';
import type { ChatGate } from './chat-gate.ts';
import type { ChatStore, Phase } from './chat-store.ts';
import type { Chat } from './chat.ts';
import { LostAnswer } from './lost-answer.ts';
import { PageChanges } from './page-changes.ts';

/** Why a chat asks for a running answer. `check`: something may have changed. */
type Reason = Phase | 'check';

export interface ChatLoadingOptions {
  readonly chat: Chat;
  readonly connection: ChatConnection;
  readonly gate: ChatGate;
  readonly store: ChatStore;
}

/**
 * Loads the history of a chat and a running answer: at first, after a lost connection, and after
 * changes of other pages.
 */
export class ChatLoading {
  readonly #options: ChatLoadingOptions;
  readonly #changes: PageChanges;
  readonly #lostAnswer: LostAnswer;
  readonly #loadListeners: Set<() => void> = new Set();
  #reason: Reason = 'idle';
  /** Whether a stream is being resumed, which repeats an answer from its start. */
  #isResuming = false;

  constructor(options: ChatLoadingOptions) {
    const { chat, gate, store } = options;
    this.#options = options;
    this.#changes = new PageChanges({
      whenIdle: () => gate.whenFree(),
      show: (runId) => this.#follow(runId),
    });
    this.#lostAnswer = new LostAnswer({
      onBegin: () => store.set({ phase: 'continuing' }),
      attempt: async () => {
        await this.resume('continuing');
        return chat.state.status !== 'error';
      },
      onEnd: () => this.#endAnswer(),
    });
    chat.onFinish(({ isDisconnect }) => {
      if (isDisconnect) void this.regain();
      else this.#endAnswer();
    });
  }

  /** Whether an answer is being read, also one that is loaded or lost. */
  get isReading(): boolean {
    return this.#options.chat.isBusy || this.isLost || this.#isResuming;
  }

  get isResuming(): boolean {
    return this.#isResuming;
  }

  /** Whether the connection to an answer was lost, which the chat tries to read on. */
  get isLost(): boolean {
    return this.#lostAnswer.isLost;
  }

  get whenRegained(): Promise<void> {
    return this.#lostAnswer.whenRegained;
  }

  /**
   * Begins when the chat has connected. After a reload, waits for the answer to the message that
   * this tab has sent. Shows the message only after the history, which tells whether the same
   * person is logged in. `isNew`: whether there is nothing to load.
   */
  async begin(isNew: boolean): Promise<void> {
    const { chat, connection } = this.#options;
    if (connection.sent?.get()) {
      chat.noteUnanswered();
      await this.regain();
    } else if (!isNew) await this.resume();
  }

  /** Calls `listener` each time when the history is loaded, before the answer that still runs. */
  onLoaded(listener: () => void): void {
    this.#loadListeners.add(listener);
  }

  /** Loads the history, and reads a running or interrupted answer to its end. */
  resume(reason: Reason = 'loading'): Promise<void> {
    const { chat, gate, store } = this.#options;
    this.#reason = reason;
    if (reason !== 'check') store.set({ phase: reason });
    this.#isResuming = true;
    const loading = chat.resume((signal) => this.#open(signal));
    return gate.load(
      loading.finally(() => {
        this.#isResuming = false;
        if (!this.isLost) store.set({ phase: 'idle' });
      }),
    );
  }

  /** Reads an answer on whose connection was lost. */
  regain(): Promise<void> {
    return this.#options.gate.hold(this.#lostAnswer.regain());
  }

  /** Ends the attempts to read a lost answer on. Returns whether there were any. */
  giveUp(): boolean {
    const { isLost } = this.#lostAnswer;
    this.#lostAnswer.giveUp();
    return isLost;
  }

  /** Shows changes of other pages when the chat is at rest. See `watch()` of the link. */
  look(runId?: string, isNews?: () => boolean): void {
    this.#changes.add(runId, isNews);
  }

  /** Drops what the chat has, because it belongs to somebody else or is deleted. */
  forget(): void {
    const { chat, connection, store } = this.#options;
    this.#lostAnswer.giveUp();
    connection.sent?.forget();
    store.runEvents.clear();
    chat.setMessages([]);
  }

  /** Returns whether the agent has the last question. The page keeps the error of another one. */
  async hasQuestion(): Promise<boolean> {
    const { chat, connection } = this.#options;
    const question = chat.state.messages.findLast(({ role }) => role === 'user');
    const history = await connection.history().catch(() => []);
    return question !== undefined && isInHistory(question, history);
  }

  /** Forgets the message that was sent, because its answer has ended. */
  #endAnswer(): void {
    const { connection, store } = this.#options;
    connection.sent?.forget();
    store.set({ phase: 'idle' });
  }

  /**
   * Opens the stream first and reads the history second. So an answer that ends in between is in
   * the history, and the stream replaces an answer that still runs.
   */
  async #open(signal: AbortSignal): Promise<AnswerBatches | undefined> {
    const reason = this.#reason;
    const { chat, connection, store } = this.#options;
    try {
      const { link } = connection;
      let answer = await link.reconnect(signal);
      let messages = await link.history(chat.state.messages);
      if (!answer && messages.at(-1)?.role === 'user') {
        // A turn may have begun between both requests.
        answer = await link.reconnect(signal);
        messages = await link.history(messages);
      }
      if (this.isLost && !answer) this.#checkSent(messages);
      chat.showHistory(answer ? upToQuestion(messages) : messages);
      // An earlier page of another person may have left messages. The history tells this.
      for (const listener of this.#loadListeners) listener();
      if (!answer) return undefined;
      if (reason === 'check') store.set({ phase: 'other-tab' });
      // In a worker, the first event shows whether the answer was cut off.
      if (reason === 'loading' && link.outlivesPage) store.set({ phase: 'continuing' });
      return answer;
    } catch (error) {
      if (isRefusal(error)) {
        this.forget();
        store.set({ sessions: undefined });
      } else if (reason === 'check') return undefined;
      throw error;
    }
  }

  /**
   * If the history does not have the message that this tab has sent, shows both and throws: there
   * is no answer yet.
   */
  #checkSent(history: readonly UIMessage[]): void {
    const { chat, connection } = this.#options;
    const { messages, error } = chat.state;
    const sent = connection.sent?.get();
    if (!sent || isInHistory(sent, history)) return;
    const earlierMessages = sent.role === 'user' ? history : upToQuestion(history);
    const index = messages.findLastIndex(({ id }) => id === sent.id);
    chat.setMessages([...earlierMessages, ...(index < 0 ? [sent] : messages.slice(index))]);
    throw error ?? new TypeError('The connection was lost.');
  }

  async #follow(runId: string | undefined): Promise<void> {
    const { connection, store } = this.#options;
    if (!connection.isOpen || this.isLost) return;
    // After an error the chat may have a question that is not in the history.
    if (runId === undefined) return this.#check();
    if (store.runEvents.hasRun(runId)) return;
    await this.resume('other-tab');
  }

  async #check(): Promise<void> {
    const { chat, connection } = this.#options;
    const { state, hasFailedToLoad } = chat;
    if (state.status !== 'error') return this.resume('check');
    if (hasFailedToLoad && !connection.sent?.get()) return this.resume();
    // The page keeps its question and error, but only for the person whose they are.
    const isRefused = await connection.history().then(() => false, isRefusal);
    if (isRefused) await this.resume('check');
  }
}
