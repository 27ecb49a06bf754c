import type { AgentChatHelpers, UIMessage } from '@isoloop/react';
import { useCallback, useEffect, useState } from 'react';
import { isConnectionError, readableError } from './readable-error.ts';

/** What the page shows of a chat, also while the chat is not connected. */
export interface ShownChat {
  readonly isLoading: boolean;
  readonly messages: readonly UIMessage[];
  readonly isBusy: boolean;
  readonly error: Error | undefined;
  /** Tries again what has failed. */
  readonly retry: () => void;
  /** Shows the failure of another part of the page. */
  readonly onFailure: (failure: Error) => void;
}

/**
 * Keeps what a killed worker has shown until the next worker has loaded the conversation. After a
 * failed connection, tries again when this device is online.
 *
 * @param restart - Starts another worker, because the present one could not start.
 */
export function useShownChat(chat: AgentChatHelpers, restart: () => void): ShownChat {
  const [failure, setFailure] = useState<Error>();
  const { status, messages, error: chatError, retry: retryChat, resumeStream } = chat;
  // The edge got the question, and may have answered it meanwhile.
  const isAnswerLost = isConnectionError(chatError) && messages.at(-1)?.role === 'assistant';
  const isLoading = status === 'loading';
  const retry = useCallback((): void => {
    setFailure(undefined);
    if (!chatError) return;
    if (readableError(chatError).code === 'WORKER_FAILED') restart();
    else void (isAnswerLost ? resumeStream() : retryChat());
  }, [chatError, restart, isAnswerLost, resumeStream, retryChat]);
  const error = chatError ?? failure;
  useOnline(isConnectionError(error) ? retry : undefined);
  return {
    isLoading,
    messages: useLoaded(messages, isLoading),
    isBusy: useLoaded(chat.isBusy, isLoading),
    error,
    retry,
    onFailure: setFailure,
  };
}

/** Returns the value, or while the chat loads the value of before. */
function useLoaded<T>(value: T, isLoading: boolean): T {
  const [loaded, setLoaded] = useState(value);
  if (!isLoading && loaded !== value) setLoaded(value);
  return isLoading ? loaded : value;
}

/** Calls `onOnline` when this device is online again. */
function useOnline(onOnline: (() => void) | undefined): void {
  useEffect(() => {
    if (!onOnline) return;
    window.addEventListener('online', onOnline);
    return () => window.removeEventListener('online', onOnline);
  }, [onOnline]);
}
