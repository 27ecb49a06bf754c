import type { Tool } from './tool.ts';
import type { ToolSet } from './tool-set.ts';

/** Returns the tools of a set, as far as the set tells them. */
export function toolsIn(set: ToolSet): readonly Tool[] {
  if (set.allTools) return set.allTools();
  return set.schemas().flatMap(({ name }) => {
    const found = set.find(name);
    return typeof found === 'object' ? [found] : [];
  });
}
