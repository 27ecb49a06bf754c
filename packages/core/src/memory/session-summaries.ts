import { func } from '../error/options/kinds.ts';
import { checkFields } from '../error/options/check-fields.ts';
import type { SummaryStore } from './store/key-value-store.ts';
import type { SummaryNote } from './log/session-view.ts';
import type { SessionMemory } from './session-memory.ts';

/** Version of a stored summary. Others are refused. */
export const summaryVersion = 2;

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
      // Not checked above: in a replay, another memory takes its place, and nobody reads it.
      checkFields('sessionSummaries(): the memory', memory, { view: func, note: func });
      const { summary } = await memory.view();
      return summary && JSON.stringify({ v: summaryVersion, ...summary });
    },
    async set(_key, value) {
      const { firstId, lastId, count, text } = JSON.parse(value) as SummaryNote;
      await memory.note([{ kind: 'summary', firstId, lastId, count, text }], { write: true });
    },
    delete: () => memory.note([{ kind: 'summary', firstId: '', lastId: '', count: 0, text: '' }]),
  };
}
