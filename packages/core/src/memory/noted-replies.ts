import type { RunNote } from './log/format/log-record.ts';
import type { SessionView } from './log/session-view.ts';
import type { ReplyStore } from './memory.ts';

interface NotedLog {
  view(): Promise<SessionView>;
  note(notes: readonly RunNote[], options?: { readonly now?: boolean }): Promise<void>;
}

/** Returns a store that keeps the state of the current reply in a session's log. */
export function notedReplies(log: NotedLog): ReplyStore {
  return {
    get: async () => (await log.view()).reply,
    set: (after, state) =>
      log.note([{ kind: 'reply', after, ...(state && { state }) }], { now: true }),
  };
}
