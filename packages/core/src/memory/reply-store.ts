import type { JsonObject } from '../message/json.ts';
import type { ReplyStore } from './memory.ts';
import type { SessionMemory } from './session-memory.ts';

/** Returns a store that keeps the state of the current reply in a session's log. */
export function replyStore(log: Pick<SessionMemory, 'view' | 'note'>): ReplyStore {
  return {
    slotAfter(afterId, waits) {
      let hasSaved = false;
      const set = (state?: JsonObject): Promise<void> => {
        hasSaved = true;
        return log.note([{ kind: 'reply', afterId, ...(state && { state }) }], { write: true });
      };
      return {
        async load() {
          // A later request of the step, such as a retry, must not continue the reply of an earlier
          // one.
          if (hasSaved) return undefined;
          const { reply: note } = await waits.forRead(log.view());
          return note?.state && { state: note.state, isCurrent: note.afterId === afterId };
        },
        save: (state) => waits.forWrite(set(state)),
        clear: () => set(),
      };
    },
  };
}
