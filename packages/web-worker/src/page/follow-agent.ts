import { typedMessages } from '@isoloop/core/stream';
import { boolean, checkOptions, optional, type OptionTable } from '@isoloop/core/options';
import { storedIdOf, watchDeletions } from '../store/deletions.ts';
import type { RemoteAgent } from './remote-agent.ts';
import { RunNews, type NewsOfRun } from './run-news.ts';

/** `Chat` of AI SDK, for example of `@ai-sdk/vue` or `@ai-sdk/svelte`. */
export interface FollowingChat<M> {
  readonly status: string;
  messages: M[];
  readonly lastMessage: M | undefined;
  resumeStream(): Promise<void>;
  clearError?(): void;
}

/** What `followAgent()` uses of an agent. Without a `sessionId`, it does not hear of deletions. */
type FollowedAgent = Pick<RemoteAgent, 'uiMessages' | 'watch'> &
  Partial<Pick<RemoteAgent, 'sessionId' | 'agentName'>>;

/** Which tool parts the chat gets. */
interface FollowOptions {
  /**
   * Whether the tool parts have types, as those of `typedTransport()`. Set it if a transport of
   * your own wraps a typed one. Default: as the transport of the chat.
   */
  readonly typed?: boolean;
}

/**
 * Keeps a chat in step with its agent. Loads the history, reads a running or interrupted answer to
 * its end, and shows the questions and answers of other tabs. If the conversation is deleted in
 * this browser, the chat becomes empty. Returns a function that ends this. The chat's transport
 * must be `agent.chatTransport()`, also in `typedTransport()`. React has `useAgentChat` instead.
 *
 * If the history cannot be read, the chat keeps its messages. It reads the history again when the
 * next run begins or ends. Ends with the connection.
 */
export function followAgent<M extends object>(
  agent: FollowedAgent,
  chat: FollowingChat<M>,
  options: FollowOptions = {},
): () => void {
  // AI SDK's type of a chat hides its transport.
  const { transport } = chat as { readonly transport?: { readonly typed?: boolean } };
  checkOptions('followAgent()', options, followTable);
  const { typed = transport?.typed === true } = options;
  const follower = new ChatFollower(agent, chat, typed);
  void follower.readEvents();
  void follower.showRuns();
  return () => follower.leave();
}

const followTable: OptionTable<FollowOptions> = { typed: optional(boolean) };

class ChatFollower<M extends object> {
  readonly #agent: FollowedAgent;
  readonly #chat: FollowingChat<M>;
  readonly #isTyped: boolean;
  readonly #runs: ReturnType<RemoteAgent['watch']>;
  // If the chat is busy when a run begins, the run may be its own.
  readonly #news = new RunNews(
    (runId) => (this.#isReading || this.#isIdle) && this.#readRunId !== runId,
  );
  #hasLeft = false;
  /** Whether the chat is busy because of this class, not because of a message of its user. */
  #isReading = false;
  /** Whether the conversation was deleted since the chat got its messages. */
  #isDeleted = false;
  readonly #unwatch: (() => void) | undefined;

  constructor(agent: FollowedAgent, chat: FollowingChat<M>, isTyped: boolean) {
    this.#agent = agent;
    this.#isTyped = isTyped;
    this.#chat = chat;
    // Watches before the first history is read, so that no run begins and ends in between.
    this.#runs = agent.watch();
    const { sessionId, agentName } = agent;
    if (sessionId === undefined) return;
    this.#unwatch = watchDeletions(storedIdOf(agentName, sessionId), () => {
      this.#isDeleted = true;
      this.#news.markStale({ certain: true });
    });
  }

  /** Reads all events at once, so that none of them waits while the chat shows a run. */
  async readEvents(): Promise<void> {
    try {
      for await (const event of this.#runs) this.#news.add(event);
    } catch {
      // The connection has ended. The next message reports it.
    }
    this.leave();
  }

  async showRuns(): Promise<void> {
    let isInStep = false;
    let news: NewsOfRun | undefined;
    while (!this.#hasLeft) {
      try {
        if (!isInStep) await this.#showFirst();
        else if (news && (await this.#isMissing(news))) await this.#showNext();
        isInStep = true;
      } catch {
        // The next news may find a history that can be read.
        isInStep = false;
      }
      await this.#news.whenSome();
      await this.#whenIdle();
      this.#clearError();
      news = this.#news.take();
    }
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#unwatch?.();
    void this.#runs.cancel();
    // `showRuns()` waits for news.
    this.#news.markStale({ certain: false });
  }

  get #isIdle(): boolean {
    return !this.#hasLeft && ['ready', 'error'].includes(this.#chat.status);
  }

  /** The run that the chat has read last, if its last message is an answer from a stream. */
  get #readRunId(): unknown {
    const { metadata } = (this.#chat.lastMessage ?? {}) as {
      readonly metadata?: { readonly runId?: unknown };
    };
    return metadata?.runId;
  }

  /** Shows the history, and continues an interrupted run. */
  async #showFirst(): Promise<void> {
    const messages = await this.#latestHistory();
    if (this.#isIdle) await this.#readAnswer(messages);
    else this.#news.markStale({ certain: true });
  }

  async #showNext(): Promise<void> {
    const messages = await this.#latestHistory();
    if (!this.#isIdle) this.#news.markStale({ certain: true });
    else if (this.#news.isAnswering) await this.#readAnswer(messages);
    else this.#show(messages);
  }

  async #readAnswer(messagesSoFar: readonly M[]): Promise<void> {
    const chat = this.#chat;
    // The stream repeats the answer from its start.
    chat.messages = messagesSoFar.slice(0, messagesSoFar.findLastIndex(isQuestion) + 1);
    this.#isReading = true;
    try {
      await chat.resumeStream();
    } finally {
      this.#isReading = false;
    }
    const lastMessage = chat.lastMessage;
    // The history has all runs that have ended.
    const news = this.#news.isAnswering ? undefined : this.#news.take();
    const messages = await this.#history();
    // Keeps messages that the user has added meanwhile.
    if (this.#isIdle && chat.lastMessage === lastMessage) this.#show(messages);
    else if (news) this.#news.markStale(news);
  }

  #show(messages: M[]): void {
    this.#chat.messages = messages;
    if (messages.length) this.#isDeleted = false;
    this.#clearError();
  }

  /** A deletion ends a running answer with an error, which concerns nobody. */
  #clearError(): void {
    if (this.#isDeleted && !this.#chat.lastMessage) this.#chat.clearError?.();
  }

  /** A chat that was busy when a run began may have read this run. */
  async #isMissing(news: NewsOfRun): Promise<boolean> {
    if (news.certain) return true;
    // After `stop()`, AI SDK's chat drops what the run says about its end.
    if (this.#readRunId === news.runId) return isOpen(this.#chat.lastMessage);
    const lastMessage = (await this.#history()).at(-1);
    if (this.#isIdle) return idOf(lastMessage) !== idOf(this.#chat.lastMessage);
    // The user has sent a message meanwhile.
    this.#news.markStale(news);
    return false;
  }

  /** Reads the history, and reads it again while runs change it. */
  async #latestHistory(): Promise<M[]> {
    for (;;) {
      this.#news.clear();
      const messages = await this.#history();
      if (this.#news.isEmpty) return messages;
    }
  }

  async #history(): Promise<M[]> {
    const messages = await this.#agent.uiMessages();
    const shownMessages = this.#isTyped ? typedMessages(messages) : [...messages];
    return shownMessages as readonly object[] as M[];
  }

  /** AI SDK's chat has no event for the end of an answer. */
  async #whenIdle(): Promise<void> {
    while (!this.#hasLeft && !this.#isIdle) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function isQuestion(message: object): boolean {
  return (message as { readonly role?: unknown }).role === 'user';
}

/** Returns whether a text of a message grows, or a call has no result. */
function isOpen(message: object | undefined): boolean {
  const { parts = [] } = (message ?? {}) as {
    readonly parts?: readonly { readonly state?: string }[];
  };
  return parts.some(({ state = '' }) =>
    /^(streaming|input-streaming|input-available)$/.test(state),
  );
}

function idOf(message: object | undefined): unknown {
  return (message as { readonly id?: unknown } | undefined)?.id;
}
