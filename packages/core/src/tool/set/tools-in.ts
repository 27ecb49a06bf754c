import type { Tool } from '../tool.ts';
import type { ToolSet } from './tool-set.ts';

/**
 * Returns all tools of a set. If the set has no `allTools`, returns only the tools that the model
 * may call now.
 */
export function toolsIn(set: ToolSet): readonly Tool[] {
  if (set.allTools) return set.allTools();
  return set.schemas().flatMap(({ name }) => {
    const found = set.find(name);
    return typeof found === 'object' ? [found] : [];
  });
}
