import { SessionMemory, type ReActAgent } from '@isoloop/core';
import { titleOf } from '@isoloop/core/adapter';

/**
 * Adds a hook that sets the title of a session without a title to the beginning of its first
 * message. The memory stores the title with its next write.
 */
export function entitle(agent: ReActAgent): void {
  const { memory } = agent;
  if (!(memory instanceof SessionMemory)) return;
  agent.addHook({
    name: 'title',
    onError: 'ignore',
    on: {
      'pre-reasoning': async ({ iteration }) => {
        if (iteration > 1 || 'title' in (await memory.view()).state) return;
        const title = titleOf(await memory.read());
        if (title) await memory.note([{ kind: 'state', state: { title } }]);
      },
    },
  });
}
