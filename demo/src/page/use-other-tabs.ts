import type { Chat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import { useEffect, useRef } from 'react';
import type { Connection, News } from './connection.ts';
import { saysTheSame } from './message-parts.ts';

export interface UseOtherTabsOptions {
  readonly connection: Connection;
  readonly chat: Chat<UIMessage>;
  /** Whether the chat has read of this run: it asked for it, or has followed it. */
  readonly isKnown: (runId: string) => boolean;
}

/** Shows in this tab's chat what others ask, and are answered, as it comes. What comes while the chat is busy waits. */
export function useOtherTabs({ connection, chat, isKnown }: UseOtherTabsOptions): void {
  const waiting = useRef<(() => void)[]>([]);
  useEffect(() => {
    if (!isBusy(chat)) for (const go of waiting.current.splice(0)) go();
  });
  useEffect(() => {
    let left = false;
    let queue = Promise.resolve();
    let willLook = false;
    const followed = new Set<string>();

    /** What the conversation is while the chat asks nothing; nothing where that is no longer wanted. */
    const readAtRest = async (): Promise<UIMessage[] | undefined> => {
      for (;;) {
        while (isBusy(chat) && !left) await new Promise<void>((resolve) => waiting.current.push(resolve));
        if (left) return undefined;
        const messages = await connection.history();
        if (!isBusy(chat)) return left ? undefined : messages;
      }
    };
    const look = async (): Promise<boolean> => {
      const messages = await readAtRest();
      // What failed may have left a question that is nowhere but here.
      if (!messages || chat.status === 'error' || saysTheSame(messages, chat.messages)) return false;
      chat.messages = messages;
      return true;
    };
    const follow = async (runId?: string): Promise<void> => {
      const messages = await readAtRest();
      if (!messages || (runId !== undefined && isKnown(runId))) return;
      if (runId !== undefined) followed.add(runId);
      // The worker tells the answer to the last question from its start, under a name of its own.
      chat.messages = runId === undefined ? messages : messages.slice(0, messages.findLastIndex(({ role }) => role === 'user') + 1);
      await chat.resumeStream();
      await look();
    };
    const show = async (news: News): Promise<void> => {
      if (news.type === 'run') return follow(news.runId);
      if (news.type === 'end') return void (followed.delete(news.runId) && (await look()));
      willLook = false;
      if ((await look()) && connection.resume) await chat.resumeStream();
    };
    const unwatch = connection.watch((news) => {
      if (news.type === 'look') {
        if (willLook) return;
        willLook = true;
      }
      // Where the connection has failed, the next message tells.
      queue = queue.then(() => show(news)).catch(() => {});
    });
    return () => {
      left = true;
      unwatch();
      for (const go of waiting.current.splice(0)) go();
    };
  }, [connection, chat, isKnown]);
}

function isBusy({ status }: Chat<UIMessage>): boolean {
  return status === 'submitted' || status === 'streaming';
}
