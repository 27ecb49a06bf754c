import { openai } from '@isoloop/core/openai';
import type { ChatModel, JsonValue } from '@isoloop/core';
import { exposeAgent } from '@isoloop/web-worker/worker';
import { createStore, get, set } from 'idb-keyval';
import * as z from 'zod';
import { demoAgent } from './demo-agent.ts';
import { offlineModel } from './offline-model.ts';
import type { Note, NotesStore } from './tools/notes.ts';

const choice = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('offline') }),
  z.object({
    kind: z.literal('endpoint'),
    baseURL: z.url(),
    model: z.string().min(1),
    apiKey: z.string(),
  }),
]);

exposeAgent(({ sessionId, memory, options }) =>
  demoAgent({ sessionId, memory, model: chooseModel(options), notes: notesInTab() }),
);

/** Builds the chosen model. The key stays in this worker's memory and is never stored. */
function chooseModel(options: JsonValue | undefined): ChatModel {
  const chosen = choice.parse(options ?? { kind: 'offline' });
  if (chosen.kind === 'offline') return offlineModel();
  const { baseURL, model, apiKey } = chosen;
  return openai({ baseURL, model, ...(apiKey ? { apiKey } : {}) });
}

function notesInTab(): NotesStore {
  const store = createStore('isoloop-demo', 'notes');
  return {
    read: async () => (await get<readonly Note[]>('notes', store)) ?? [],
    write: (notes) => set('notes', notes, store),
  };
}
