import type { ToolSet } from './tool-set.ts';

/** Returns a view of a tool set in which only the named tools can be called. */
export function allowTools(set: ToolSet, names: readonly string[]): ToolSet {
  return {
    context: set.context,
    find(name) {
      const tool = set.find(name);
      return tool && !names.includes(name) ? `Tool not allowed: ${name}.` : tool;
    },
    schemas: () => set.schemas().filter(({ name }) => names.includes(name)),
    fork: (options) => allowTools(set.fork(options), names),
  };
}
