import type { JsonObject } from '../../message/json/json.ts';
import type { RunNote } from './log-record.ts';
import type { SessionView } from './session-view.ts';
import type { ReplyStore } from '../memory.ts';
import type { SummaryStore } from '../key-value-store.ts';

type SummaryNote = Extract<RunNote, { kind: 'summary' }>;

interface NotedLog {
  view(): Promise<SessionView>;
  note(notes: readonly RunNote[], options?: { readonly now?: boolean }): Promise<void>;
}

/** Returns a store that keeps the state of the current reply in a session's log. */
export function notedReplies(log: NotedLog): ReplyStore {
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

/** Returns a store that keeps one summary in a session's log. The store ignores keys. */
export function notedSummaries(log: NotedLog): SummaryStore {
  return {
    async get() {
      const { summary } = await log.view();
      return summary && JSON.stringify({ v: 1, ...summary });
    },
    async set(_key, value) {
      const { first, last, count, text } = JSON.parse(value) as SummaryNote;
      await log.note([{ kind: 'summary', first, last, count, text }], { now: true });
    },
    delete: () => log.note([{ kind: 'summary', first: '', last: '', count: 0, text: '' }]),
  };
}
