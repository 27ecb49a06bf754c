import { sleepFor } from '@isoloop/core/wait';
import type { AgentSessionEntry } from '@isoloop/core/host';
import type { AnswerChannel } from './answer-channel.ts';
import { takeLock } from './held-lock.ts';
import { untilVisible } from './page-life.ts';

type List = readonly AgentSessionEntry[];

/** Time for the tab that read the answer to load and post the list, in milliseconds. */
const patienceMs = 1000;

/**
 * Loads the list of conversations, and gives it to the other tabs. After the answer of another tab,
 * waits for the list of that tab, which may not show one. One of the visible tabs then loads it.
 */
export async function sharedList(
  channel: AnswerChannel | undefined,
  load: () => Promise<List>,
): Promise<List> {
  const loadForAll = async (): Promise<List> => {
    const list = await load();
    channel?.post({ type: 'list', list });
    return list;
  };
  if (!channel?.expectsList) return loadForAll();
  channel.expectsList = false;
  const waiting = new AbortController();
  const { signal } = waiting;
  const stop = (): void => waiting.abort();
  channel.closing.addEventListener('abort', stop, { signal });
  if (channel.closing.aborted) stop();
  const loadInTurn = async (): Promise<List> => {
    await untilVisible(signal);
    const release = await takeLock(`${channel.name}:list`, { signal });
    try {
      await sleepFor(patienceMs, signal);
      signal.throwIfAborted();
      return await loadForAll();
    } finally {
      release?.();
    }
  };
  try {
    return await Promise.race([channel.whenListed, loadInTurn()]);
  } finally {
    stop();
  }
}
