import type { ToolSet } from './tool-set.ts';

/** A set of which only the named tools can be called. */
export function allowTools(set: ToolSet, names: readonly string[]): ToolSet {
  return {
    context: set.context ?? [],
    find: (name) => set.find(name) && (names.includes(name) ? set.find(name) : `Tool not allowed in this call: ${name}.`),
    schemas: () => set.schemas().filter(({ name }) => names.includes(name)),
    fork: (options) => allowTools(set.fork(options), names),
  };
}
