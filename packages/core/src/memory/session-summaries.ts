import type { SummaryStore } from './store/key-value-store.ts';
import type { LogNote } from './log/log-record.ts';
import type { SessionMemory } from './session-memory.ts';

type SummaryNote = Extract<LogNote, { kind: 'summary' }>;

/**
 * Returns a store for `summarizeHistory({ store })` that keeps the summary in the log of a session.
 * The summary is valid until its first or last message is removed. Ignores keys, so use it for this
 * session only.
 *
 * @example
 * use: [summarizeHistory({ store: sessionSummaries(memory) })],
 */
export function sessionSummaries(memory: Pick<SessionMemory, 'view' | 'note'>): SummaryStore {
  return {
    async get() {
      const { summary } = await memory.view();
      return summary && JSON.stringify({ v: 1, ...summary });
    },
    async set(_key, value) {
      const { first, last, count, text } = JSON.parse(value) as SummaryNote;
      await memory.note([{ kind: 'summary', first, last, count, text }], { write: true });
    },
    delete: () => memory.note([{ kind: 'summary', first: '', last: '', count: 0, text: '' }]),
  };
}
