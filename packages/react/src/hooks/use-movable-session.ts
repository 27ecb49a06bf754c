import {
  checkOptions,
  string,
  boolean,
  optional,
  func,
  type OptionTable,
} from '@isoloop/core/options';
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { MovingPage, type MovingState, type SessionMover } from './moving-page.ts';

/** Where a conversation begins, and what the page does after a move. */
export interface UseMovableSessionOptions<N extends string> {
  /** Place of a new conversation, which no place has stored yet. */
  readonly initial: N;
  /**
   * Whether to look for the conversation in all places at first. If `false`, the hook takes it to
   * be at `initial`, until an error or another tab says that it has moved. Default: true.
   */
  readonly look?: boolean;
  /** Called when the conversation is at another place than before. */
  onMove?(place: N): void;
}

/** The place of a conversation, and the functions that change it. */
export interface MovableSession<N extends string, Options = unknown> extends MovingState<N> {
  /**
   * Moves the conversation, and shows it at its new place. A failure becomes `error`. Then the
   * conversation is at `place`, and you can move it again.
   */
  moveTo(place: N, options?: Options): Promise<void>;
  /**
   * Looks for the conversation again if an error has the code `SESSION_MOVED`. Use it as `onError`
   * of `useAgentChat()`, so that the page follows moves of other browsers, too.
   */
  follow(error: Error): void;
}

/**
 * Shows where a conversation is, and moves it. Follows moves of the browser's other tabs. Give the
 * chat a `key` with the place, because each place has a chat of its own. `sessions` is the result
 * of `movableSessions()`. Create it outside of the component.
 *
 * @example
 * const { place, moveTo, follow } = useMovableSession(sessions, 'notes', { initial: 'tab' });
 */
export function useMovableSession<N extends string, Options = unknown>(
  sessions: SessionMover<N, Options>,
  sessionId: string,
  options: UseMovableSessionOptions<N>,
): MovableSession<N, Options> {
  checkOptions('useMovableSession()', options, movableSessionOptions);
  const { initial, look = true, onMove } = options;
  const latest = useRef(onMove);
  useEffect(() => void (latest.current = onMove));
  const page = useMemo(() => {
    const tell = (place: N): void => latest.current?.(place);
    return new MovingPage({ sessions, sessionId, initial, look, onMove: tell });
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only the first look uses the others
  }, [sessions, sessionId]);
  const state = useSyncExternalStore(
    page.subscribe,
    () => page.state,
    () => page.initial,
  );
  return { ...state, moveTo: page.moveTo, follow: page.follow };
}

const movableSessionOptions: OptionTable<UseMovableSessionOptions<string>> = {
  initial: string,
  look: optional(boolean),
  onMove: optional(func),
};
