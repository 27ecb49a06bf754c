import type { ToolSet } from './tool-set.ts';

/** Restricts a set to the named tools. */
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
