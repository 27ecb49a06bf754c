import type { RemoteAgent } from './remote-agent.ts';

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
  const runs = agent.watch();
  let hasLeft = false;
  const history = async (): Promise<M[]> =>
    [...(await agent.uiMessages())] as readonly object[] as M[];
  const isIdle = (): boolean => !hasLeft && ['ready', 'error'].includes(chat.status);

  /** AI SDK's chat has no event for the end of an answer. */
  const whenIdle = async (): Promise<void> => {
    while (!hasLeft && !isIdle()) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const lacksMessages = async (): Promise<boolean> => {
    const lastMessage = (await history()).at(-1);
    return chat.status === 'ready' && idOf(lastMessage) !== idOf(chat.lastMessage);
  };

  const show = async (): Promise<void> => {
    const storedMessages = await history();
    if (!isIdle()) return;
    // The stream repeats the answer from its start.
    chat.messages = storedMessages.slice(0, storedMessages.findLastIndex(isQuestion) + 1);
    await chat.resumeStream();
    const lastMessage = chat.lastMessage;
    const messages = await history();
    // Keeps messages that the user has added meanwhile.
    if (isIdle() && chat.lastMessage === lastMessage) chat.messages = messages;
  };
  const follow = async (): Promise<void> => {
    let lastRunId = '';
    await show();
    for await (const { type, runId, agentPath } of runs) {
      const isAtWork = type === 'pre-reasoning' || type === 'pre-acting';
      if (!isAtWork || agentPath.length > 1 || runId === lastRunId) continue;
      lastRunId = runId;
      const wasIdle = isIdle();
      await whenIdle();
      // A chat that was busy has read this run, or the one before it.
      if (wasIdle || (await lacksMessages())) await show();
    }
  };
  follow().catch(() => {
    // The connection has ended. The next message reports it.
  });
  return () => {
    hasLeft = true;
    runs.cancel();
  };
}

function isQuestion(message: object): boolean {
  return (message as { readonly role?: unknown }).role === 'user';
}

function idOf(message: object | undefined): unknown {
  return (message as { readonly id?: unknown } | undefined)?.id;
}
