import type { JsonObject } from '../message/json.ts';
import type { RunNote } from './log/log-record.ts';
import type { SessionView } from './log/session-view.ts';
import type { ReplyStore } from './memory.ts';

interface NotedLog {
  view(): Promise<SessionView>;
  note(notes: readonly RunNote[], options?: { readonly now?: boolean }): Promise<void>;
}

/** Returns a store that keeps the state of the current reply in a session's log. */
export function replyStore(log: NotedLog): ReplyStore {
  return {
    keptAfter(after, waits) {
      let isOwn = false;
      const set = (state?: JsonObject): Promise<void> => {
        isOwn = true;
        return log.note([{ kind: 'reply', after, ...(state && { state }) }], { now: true });
      };
      return {
        async load() {
          // A later request of the step, such as a retry, must not continue the reply of an earlier
          // one.
          const found = isOwn ? undefined : (await waits.read(log.view())).reply;
          return found?.state && { state: found.state, isCurrent: found.after === after };
        },
        save: (state) => waits.write(set(state)),
        clear: () => set(),
      };
    },
  };
}
