import type { Chat } from '@ai-sdk/react';
import type { ChatTransport, UIMessage } from 'ai';
import { useEffect, useState } from 'react';
import type { Connection, News } from './connection.ts';
import { saysTheSame } from './message-parts.ts';

/** State of a chat that reads streams, its own or those of other tabs. */
export interface Reading {
  /** Ids of the runs that this chat has started or followed. */
  readonly runs: Set<string>;
  /** Whether the user stopped the last stream before its end. */
  wasStopped: boolean;
  /**
   * Resolves when no stream is being resumed. A new message waits for this promise, because AI SDK
   * marks a chat as ready when it finds no stream to resume.
   */
  resumed: Promise<void>;
}

export function newReading(): Reading {
  return { runs: new Set(), wasStopped: false, resumed: Promise.resolve() };
}

/** Shows the current run of this conversation to its end, if there is one. */
export function resumeRun(chat: Chat<UIMessage>, reading: Reading): Promise<void> {
  reading.wasStopped = false;
  reading.resumed = chat.resumeStream();
  return reading.resumed;
}

/**
 * Wraps a transport so that a resumed stream replaces the shown part of the last answer. That
 * stream repeats the answer from its start, sometimes with another message id.
 */
export function replacingAnswer(
  transport: ChatTransport<UIMessage>,
  shownBy: () => Chat<UIMessage>,
): ChatTransport<UIMessage> {
  return {
    ...transport,
    async reconnectToStream(asked) {
      const stream = await transport.reconnectToStream(asked);
      const { messages } = shownBy();
      if (stream)
        shownBy().messages = messages.slice(
          0,
          messages.findLastIndex(({ role }) => role === 'user') + 1,
        );
      return stream;
    },
  };
}

export interface UseOtherTabsOptions {
  readonly connection: Connection;
  readonly chat: Chat<UIMessage>;
  readonly reading: Reading;
}

/**
 * Shows the questions and streamed answers of other tabs in this chat. Waits while this chat is
 * busy. Returns true while it shows another tab's run, because the user cannot send messages then.
 */
export function useOtherTabs({ connection, chat, reading }: UseOtherTabsOptions): boolean {
  const [isFollowing, setFollowing] = useState(false);
  const [waiting] = useState<(() => void)[]>(() => []);
  useEffect(() => {
    if (!isBusy(chat)) for (const go of waiting.splice(0)) go();
  });
  useEffect(() => {
    let left = false;
    let queue = Promise.resolve();
    let willLook = false;
    const followed = new Set<string>();

    /** Reads the history while the chat is idle. Returns `undefined` after unmount. */
    const readAtRest = async (): Promise<UIMessage[] | undefined> => {
      for (;;) {
        while (isBusy(chat) && !left) await new Promise<void>((resolve) => waiting.push(resolve));
        if (left) return undefined;
        const messages = await connection.history();
        if (!isBusy(chat)) return left ? undefined : messages;
      }
    };
    const look = async (): Promise<boolean> => {
      const messages = await readAtRest();
      // After an error this chat may have a question that is not in the history.
      if (!messages || chat.status === 'error' || saysTheSame(messages, chat.messages))
        return false;
      chat.messages = messages;
      return true;
    };
    const resume = async (): Promise<void> => {
      setFollowing(true);
      await resumeRun(chat, reading).finally(() => setFollowing(false));
    };
    const follow = async (runId?: string): Promise<void> => {
      const messages = await readAtRest();
      if (!messages || (runId !== undefined && reading.runs.has(runId))) return;
      if (runId !== undefined) followed.add(runId);
      chat.messages = messages;
      await resume();
      // If the user stopped the answer, the history does not contain it yet.
      if (!reading.wasStopped) await look();
    };
    const show = async (news: News): Promise<void> => {
      if (news.type === 'run') return follow(news.runId);
      if (news.type === 'end') return void (followed.delete(news.runId) && (await look()));
      willLook = false;
      if (!(await look()) || !connection.outlivesPage) return;
      await resume();
      // A run that ended before the page asked for its stream has no stream. Its answer is in the
      // history.
      if (!reading.wasStopped) await look();
    };
    const hear = (news: News): void => {
      if (news.type === 'look') {
        if (willLook) return;
        willLook = true;
      }
      // Reads the history only after the page has asked for a running answer. An answer that has
      // ended before has no stream but is in the history. Ignores a failed connection, because the
      // next message reports it.
      queue = queue
        .then(() => reading.resumed)
        .then(() => show(news))
        .catch(() => {});
    };
    const unwatch = connection.watch(hear);
    // A run may have ended after the page read the history and before it began to watch.
    hear({ type: 'look' });
    return () => {
      left = true;
      unwatch();
      for (const go of waiting.splice(0)) go();
    };
  }, [connection, chat, reading, waiting]);
  return isFollowing;
}

function isBusy({ status }: Chat<UIMessage>): boolean {
  return status === 'submitted' || status === 'streaming';
}
