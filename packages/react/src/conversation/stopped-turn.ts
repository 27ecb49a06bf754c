import { sleepFor } from '@isoloop/core/wait';
import type { Chat } from './chat.ts';

/**
 * Pauses before a turn is stopped again whose stream has not ended, in milliseconds. The turn may
 * not have begun when it was stopped first.
 */
const pausesMs = [1000, 4000];

export interface StoppedTurn {
  readonly chat: Chat;
  /** Stops the turn where it runs. Resolves to whether its stream then ends by itself. */
  readonly stop: (signal: AbortSignal) => Promise<boolean>;
  /** Settles when the agent has answered the last request. Absent if it has. */
  readonly whenSent: Promise<unknown> | undefined;
  /** Settles when no answer is being read. */
  readonly whenEnded: Promise<void>;
  /** Ends the attempts to read a lost answer on. Returns whether there were any. */
  readonly giveUp: () => boolean;
}

/**
 * Stops a turn, and ends its reading. Rejects if the turn goes on. Resolves to whether its answer
 * was lost, and the agent may have more of it.
 */
export async function stopTurn(turn: StoppedTurn): Promise<boolean> {
  const { chat, stop, whenSent, whenEnded, giveUp } = turn;
  chat.dropUnsent();
  const ending = new AbortController();
  const { signal } = ending;
  void whenEnded.then(() => ending.abort());
  let endsItself = await stop(signal);
  const wasLost = giveUp();
  // An endpoint that had not answered may have had no turn yet.
  if (endsItself) await Promise.race([whenSent, whenEnded]);
  for (const pauseMs of whenSent ? [0, ...pausesMs] : pausesMs) {
    if (!endsItself || !chat.isBusy) break;
    await sleepFor(pauseMs, signal);
    if (chat.isBusy) endsItself = await stop(signal);
  }
  await chat.stop({ endsTurn: wasLost || chat.isBusy });
  await whenEnded;
  return wasLost && endsItself;
}
