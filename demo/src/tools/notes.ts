import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';
import type { AroundTool } from './around-tool.ts';

export interface Note {
  readonly id: number;
  readonly text: string;
}

/** The storage of the notes: IndexedDB in a tab, KV at the edge. */
export interface NotesStore {
  read(): Promise<readonly Note[]>;
  write(notes: readonly Note[]): Promise<void>;
}

export function notesTool(store: NotesStore, around: AroundTool): Tool {
  // Tool calls of the same reply run at the same time. Each call must see the notes that the
  // previous call has written.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work);
    last = next.catch(() => {});
    return next;
  };
  return tool({
    name: 'notes',
    description:
      'The user’s notes, kept for the next visit: add one, list them, delete one by its id.',
    // The schema is one flat object, because providers refuse a schema whose root is a union.
    input: z.object({
      action: z.enum(['add', 'list', 'delete']),
      text: z.string().max(1_000).optional().describe('For add: the note’s text'),
      id: z.number().int().optional().describe('For delete: the note’s id'),
    }),
    // Deleting cannot be undone, so the user must approve it.
    needsApproval: ({ action }) => action === 'delete',
    execute: (input, context) =>
      inTurn(() =>
        around(context, async () => {
          const notes = await store.read();
          if (input.action === 'list') return { notes };
          if (input.action === 'add') {
            if (!input.text?.trim()) throw new Error('The note needs a text.');
            const added = { id: Math.max(0, ...notes.map(({ id }) => id)) + 1, text: input.text };
            await store.write([...notes, added]);
            return { added };
          }
          const deleted = notes.find(({ id }) => id === input.id);
          if (!deleted) throw new Error(`There is no note ${input.id}.`);
          await store.write(notes.filter((note) => note !== deleted));
          return { deleted };
        }),
      ),
  });
}
