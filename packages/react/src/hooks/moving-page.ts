import { AgentError } from '@isoloop/core';

/** Conversations that move between places: the result of `movableSessions()`. */
export interface SessionMover<N extends string, Options = unknown> {
  moveTo(sessionId: string, name: N, options?: Options): Promise<void>;
  whereIs(sessionId: string): Promise<N | undefined>;
  watch(sessionId: string, listener: (name: N) => void): () => void;
}

/** What a page shows of a conversation that can move. Is replaced at each change. */
export interface MovingState<N extends string> {
  /** Name of the place. `undefined` while the page looks for the conversation. */
  readonly place: N | undefined;
  /** Whether this page moves the conversation. `place` is still the old one. */
  readonly isMoving: boolean;
  /** Why the last move failed, or the conversation was not found. */
  readonly error: Error | undefined;
}

export interface MovingPageOptions<N extends string, Options> {
  readonly sessions: SessionMover<N, Options>;
  readonly sessionId: string;
  /** Place of a new conversation. */
  readonly initial: N;
  /** Whether to look for the conversation first. */
  readonly look: boolean;
  readonly onMove: (place: N) => void;
}

/** The place of one conversation on one page. It follows the moves of other pages. */
export class MovingPage<N extends string, Options> {
  /** What a server shows, and the page before it has looked. */
  readonly initial: MovingState<N>;
  state: MovingState<N>;
  readonly #options: MovingPageOptions<N, Options>;
  readonly #listeners: Set<() => void> = new Set();
  /** Number of actions. The result of an earlier action is out of date. */
  #actions = 0;
  #unwatch: (() => void) | undefined;

  constructor(options: MovingPageOptions<N, Options>) {
    const { look, initial } = options;
    this.#options = options;
    this.initial = { place: look ? undefined : initial, isMoving: false, error: undefined };
    this.state = this.initial;
  }

  /** Calls `listener` at each change. The first listener begins to look and to follow. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#unwatch ??= this.#watch();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size) return;
      this.#actions += 1;
      this.#unwatch?.();
      this.#unwatch = undefined;
    };
  };

  readonly moveTo = async (place: N, options?: Options): Promise<void> => {
    const { sessions, sessionId } = this.#options;
    const isLatest = this.#begin();
    this.#set({ isMoving: true, error: undefined });
    try {
      // A conversation without messages is nowhere yet.
      if (await sessions.whereIs(sessionId)) await sessions.moveTo(sessionId, place, options);
      if (isLatest()) this.#show(place);
    } catch (error) {
      // The move may have failed before or after the new place became the owner.
      if (isLatest()) await this.#find(error as Error);
    }
  };

  readonly follow = (error: Error): void => {
    if (AgentError.is(error) && error.code === 'SESSION_MOVED') void this.#find();
  };

  #watch(): () => void {
    const { sessions, sessionId, look } = this.#options;
    if (look) void this.#find();
    return sessions.watch(sessionId, (place) => {
      this.#begin();
      this.#show(place);
    });
  }

  /** Looks for the conversation. `reason`: error to show. */
  async #find(reason?: Error): Promise<void> {
    const { sessions, sessionId, initial } = this.#options;
    const isLatest = this.#begin();
    let { place } = this.state;
    let error = reason;
    try {
      place = (await sessions.whereIs(sessionId)) ?? place ?? initial;
    } catch (lookupError) {
      error ??= lookupError as Error;
    }
    if (isLatest()) this.#show(place, error);
  }

  /** Begins an action. Returns a function that returns whether no later one has begun. */
  #begin(): () => boolean {
    this.#actions += 1;
    const action = this.#actions;
    return () => action === this.#actions;
  }

  #show(place: N | undefined, error?: Error): void {
    const lastPlace = this.state.place ?? this.#options.initial;
    this.#set({ place, error, isMoving: false });
    if (place !== undefined && place !== lastPlace) this.#options.onMove(place);
  }

  #set(changes: Partial<MovingState<N>>): void {
    this.state = { ...this.state, ...changes };
    for (const listener of this.#listeners) listener();
  }
}
