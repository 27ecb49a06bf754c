import type { AgentDefaults } from './agent-defaults.ts';
import type { Middleware, UseList } from './middleware.ts';

/**
 * Returns the middleware of a `use` list as one flat list. Middleware in a nested list, such as a
 * preset, is replaced by later middleware of the same name from another list. Middleware directly
 * in `use` is never replaced.
 */
export function partsOf(use: UseList): readonly Middleware[] {
  const parts: { part: Middleware; list: UseList }[] = [];
  const add = (list: UseList): void => {
    for (const item of list) {
      if (isList(item)) {
        add(item);
        continue;
      }
      const { name } = item;
      const replaced = parts.find(
        (other) =>
          other.list !== use &&
          other.list !== list &&
          name !== undefined &&
          other.part.name === name,
      );
      if (replaced) Object.assign(replaced, { part: item, list });
      else parts.push({ part: item, list });
    }
  };
  add(use);
  return parts.map(({ part }) => part);
}

/**
 * Returns the defaults that the middleware sets for the agent. Later middleware overrides earlier
 * middleware. `limits` and `generate` are merged field by field.
 */
export function defaultsOf(parts: readonly Middleware[]): Partial<AgentDefaults> {
  return parts.reduce<Partial<AgentDefaults>>(
    (merged, { defaults = {} }) => withDefaults(defaults, merged),
    {},
  );
}

/** Merges options over defaults. An `undefined` option counts as not set. */
export function withDefaults<O extends Partial<AgentDefaults>>(
  options: O,
  defaults: Partial<AgentDefaults>,
): O {
  const merged: O = { ...defaults, ...setFields(options) };
  const limits = { ...defaults.limits, ...setFields(options.limits ?? {}) };
  const generate = { ...defaults.generate, ...setFields(options.generate ?? {}) };
  return { ...merged, limits, generate };
}

function setFields<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

function isList(item: UseList[number]): item is UseList {
  return Array.isArray(item);
}
