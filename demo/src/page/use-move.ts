import { useEffect, useState } from 'react';
import { conversations } from './places.ts';
import type { Home, Settings } from './settings.ts';

export interface Move {
  readonly isMoving: boolean;
  /** Why the last move failed. The conversation then stays where it was. */
  readonly error: Error | undefined;
  /** Moves the conversation to another place, when its answer has ended. */
  readonly go: (home: Home) => Promise<void>;
}

/** Moves the conversation with the switch of the header, and follows the moves of other tabs. */
export function useMove(
  { home, sessions }: Settings,
  change: (changes: Partial<Settings>) => void,
): Move {
  const [isMoving, setMoving] = useState(false);
  const [error, setError] = useState<Error>();
  const sessionId = sessions[home];
  const show = (next: Home): void =>
    change({ home: next, sessions: { ...sessions, [next]: sessionId } });
  useEffect(() => conversations.watch(sessionId, show));
  const go = async (next: Home): Promise<void> => {
    setMoving(true);
    setError(undefined);
    show(next);
    try {
      // A conversation without messages is nowhere yet.
      if (await conversations.whereIs(sessionId))
        await conversations.moveTo(sessionId, next, { running: 'wait' });
    } catch (thrown) {
      setError(thrown as Error);
      change({ home, sessions });
    }
    setMoving(false);
  };
  return { isMoving, error, go };
}
