import type { RunNote } from './log/format/log-record.ts';
import type { SessionView } from './log/session-view.ts';
import type { SummaryStore } from './summary-store.ts';

type SummaryNote = Extract<RunNote, { kind: 'summary' }>;

interface NotedLog {
  view(): Promise<SessionView>;
  note(notes: readonly RunNote[], options?: { readonly now?: boolean }): Promise<void>;
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
