import type { RemoteAgent } from './remote-agent.ts';
import { RunNews } from './run-news.ts';

/** `Chat` of AI SDK, for example of `@ai-sdk/vue` or `@ai-sdk/svelte`. */
export interface FollowingChat<M> {
  readonly status: string;
  messages: M[];
  readonly lastMessage: M | undefined;
  resumeStream(): Promise<void>;
}

/**
 * Keeps a chat in step with its agent. Loads the history, reads a running or interrupted answer to
 * its end, and shows the questions and answers of other tabs. Returns a function that ends this.
 * The chat's transport must be `agent.chatTransport()`. React has `useAgentChat` instead.
 */
export function followAgent<M extends object>(
  agent: Pick<RemoteAgent, 'uiMessages' | 'watch'>,
  chat: FollowingChat<M>,
): () => void {
  const follower = new ChatFollower(agent, chat);
  follower.follow().catch(() => {
    // The connection has ended. The next message reports it.
  });
  return () => follower.leave();
}

class ChatFollower<M extends object> {
  readonly #agent: Pick<RemoteAgent, 'uiMessages' | 'watch'>;
  readonly #chat: FollowingChat<M>;
  readonly #runs: ReturnType<RemoteAgent['watch']>;
  // A chat that is busy when a run begins may have asked for it.
  readonly #news = new RunNews(
    (runId) => (this.#isReading || this.#isIdle) && this.#readRunId !== runId,
  );
  #hasLeft = false;
  /** Whether the chat is busy because of this class, not because of a message of its user. */
  #isReading = false;

  constructor(agent: Pick<RemoteAgent, 'uiMessages' | 'watch'>, chat: FollowingChat<M>) {
    this.#agent = agent;
    this.#chat = chat;
    // Watches before the first history is read, so that no run begins and ends in between.
    this.#runs = agent.watch();
  }

  async follow(): Promise<void> {
    await Promise.all([this.#readEvents(), this.#showRuns()]);
  }

  leave(): void {
    this.#hasLeft = true;
    void this.#runs.cancel();
    this.#news.wake();
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

  /** Reads all events at once, so that none of them waits while the chat shows a run. */
  async #readEvents(): Promise<void> {
    for await (const event of this.#runs) this.#news.add(event);
  }

  async #showRuns(): Promise<void> {
    await this.#show(true);
    while (!this.#hasLeft) {
      await this.#news.whenTold();
      await this.#whenIdle();
      const item = this.#hasLeft ? undefined : this.#news.take();
      // A chat that was busy has read this run, or the one before it.
      if (item && (item.isCertain || (await this.#lacks(item.runId)))) await this.#show(false);
    }
  }

  async #show(isFirst: boolean): Promise<void> {
    const messages = await this.#latestHistory();
    if (!this.#isIdle) this.#news.tell(true);
    else if (isFirst || this.#news.isAtWork) await this.#readAnswer(messages);
    else this.#chat.messages = messages;
  }

  async #readAnswer(messagesSoFar: readonly M[]): Promise<void> {
    const chat = this.#chat;
    // The stream repeats the answer from its start.
    chat.messages = messagesSoFar.slice(0, messagesSoFar.findLastIndex(isQuestion) + 1);
    this.#isReading = true;
    await chat.resumeStream();
    this.#isReading = false;
    const lastMessage = chat.lastMessage;
    // The history has all runs that have ended.
    if (!this.#news.isAtWork) this.#news.clear();
    const messages = await this.#history();
    // Keeps messages that the user has added meanwhile.
    if (this.#isIdle && chat.lastMessage === lastMessage) chat.messages = messages;
  }

  async #lacks(runId: string): Promise<boolean> {
    if (this.#readRunId === runId) return false;
    const lastMessage = (await this.#history()).at(-1);
    const { status, lastMessage: shownMessage } = this.#chat;
    return status === 'ready' && idOf(lastMessage) !== idOf(shownMessage);
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
    return [...(await this.#agent.uiMessages())] as readonly object[] as M[];
  }

  /** AI SDK's chat has no event for the end of an answer. */
  async #whenIdle(): Promise<void> {
    while (!this.#hasLeft && !this.#isIdle) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function isQuestion(message: object): boolean {
  return (message as { readonly role?: unknown }).role === 'user';
}

function idOf(message: object | undefined): unknown {
  return (message as { readonly id?: unknown } | undefined)?.id;
}
