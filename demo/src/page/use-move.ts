import { useMovableSession } from '@isoloop/react';
import { useState } from 'react';
import { conversations } from './places.ts';
import type { Home, Settings } from './settings.ts';

export interface Move {
  readonly isMoving: boolean;
  /** The place that the user has chosen. During a move, the conversation is not there yet. */
  readonly chosen: Home;
  /** Why the last move failed. The conversation then stays where it was. */
  readonly error: Error | undefined;
  /** Moves the conversation to another place, when its answer has ended. */
  readonly go: (home: Home) => void;
  /** Follows the conversation after an error that says that it has moved. */
  readonly follow: (error: Error) => void;
}

/** Moves the conversation with the switch of the header, and follows the moves of other tabs. */
export function useMove(
  { home, sessions }: Settings,
  change: (changes: Partial<Settings>) => void,
): Move {
  const sessionId = sessions[home];
  const { isMoving, error, follow, moveTo } = useMovableSession(conversations, sessionId, {
    initial: home,
    // The settings say where the conversation is, and nothing has to be loaded.
    look: false,
    onMove: (next) => change({ home: next, sessions: { ...sessions, [next]: sessionId } }),
  });
  const [next, setNext] = useState(home);
  const go = (chosen: Home): void => {
    setNext(chosen);
    void moveTo(chosen, { whenRunning: 'wait' });
  };
  return { isMoving, chosen: isMoving ? next : home, error, go, follow };
}
