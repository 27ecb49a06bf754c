import type { Agent } from '../agent/agent.ts';
import { logMemoryOf } from '../memory/memory.ts';
import { titleKey } from '../memory/store/storage-keys.ts';
import { titleOf } from '../message/conversation/turns.ts';
import { storedView } from './stored-view.ts';

/**
 * Adds a hook that stores the beginning of the first message as the title of a session without a
 * title. It does so after the guards have accepted the message and the log has it. The memory
 * writes the title with its next write. Does nothing for a memory without notes. `onTitle` is
 * called when the title is set.
 */
export function storeTitle(
  agent: { readonly memory: Agent['memory']; addHook: Agent['addHook'] },
  onTitle?: () => void,
): void {
  const { memory } = agent;
  const log = logMemoryOf(memory);
  if (!log) return;
  const remove = agent.addHook({
    name: 'title',
    onError: 'ignore',
    on: {
      'pre-reasoning': async ({ iteration }) => {
        if (iteration > 1) return;
        const view = await storedView(memory);
        if (view && titleKey in view.state) return;
        // A memory without a view does not tell a later call whether it has a title.
        if (!view) remove();
        const title = titleOf(await memory.read());
        if (!title) return;
        await log.note([{ kind: 'state', state: { [titleKey]: title } }]);
        onTitle?.();
      },
    },
  });
}
