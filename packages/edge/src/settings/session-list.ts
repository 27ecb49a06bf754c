/** List of a user's conversations in a store. */
export interface StoredSessionList {
  /** Returns a page of the conversations, the most recently changed first. */
  page(options: SessionListOptions): Promise<readonly ListedSession[]>;
  /** Gives a conversation another title. Rejects with `NOT_FOUND` if there is none. */
  rename(sessionId: string, title: string): Promise<void>;
  /** Deletes the title that the user gave to a conversation. */
  forgetTitle(sessionId: string): Promise<void>;
}

/** Entry of a conversation in the list. Times are in milliseconds since 1970. */
export interface ListedSession {
  readonly sessionId: string;
  readonly title?: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface SessionListOptions {
  /**
   * Maximum number of conversations on one page. A page has more if several conversations have the
   * same time as the last one, because the next page begins before that time.
   */
  readonly limit: number;
  /**
   * Time in milliseconds since 1970. The page has only conversations that were last changed before
   * this time. Default: all conversations.
   */
  readonly before?: number | undefined;
}
