import { misconfigured, type AgentError } from '../error/agent-error.ts';
import {
  kernelDefaults,
  type AgentDefaults,
  type AgentSettings,
  type KernelOptions,
} from './kernel-options.ts';
import { omitUndefined, pickFields } from '../message/json.ts';
import type { GenerateOptions, GenerateSettings } from '../model/chat-model.ts';
import type { Middleware, UseList } from './middleware.ts';
import { array } from '../error/options/kinds.ts';
import { checkFields } from '../error/options/check-fields.ts';

/** Middleware of presets. A later one replaces it, even if the preset was spread into the list. */
const ofPresets = new WeakSet<Middleware>();

/**
 * Marks middleware as that of a preset, and returns the list. A user's middleware then replaces the
 * one of the same name, also if the user spreads the preset into `use`.
 */
export function definePreset(use: readonly Middleware[]): readonly Middleware[] {
  checkFields('definePreset()', { use }, { use: array });
  for (const middleware of use) ofPresets.add(middleware);
  return use;
}

/**
 * Returns the middleware of a `use` list as one flat list. Middleware of a preset is replaced by a
 * later one of the same name, in the same place. A nested list counts as a preset. Throws
 * `CONFIGURATION` for two others of one name.
 */
export function flatList(use: UseList): Middleware[] {
  const flat: Middleware[] = [];
  const places = new Map<string, number>();
  const nested = new Set<Middleware>();
  const add = (middleware: Middleware): void => {
    const { name } = middleware;
    const place = name ? places.get(name) : undefined;
    if (place === undefined) {
      if (name) places.set(name, flat.length);
      flat.push(middleware);
      return;
    }
    const earlier = flat[place]!;
    if (!ofPresets.has(earlier) && !nested.has(earlier)) throw twiceError(name!);
    flat[place] = middleware;
  };
  for (const item of use) {
    const isNested = isList(item);
    for (const middleware of isNested ? flatList(item) : [item]) {
      add(middleware);
      if (isNested) nested.add(middleware);
    }
  }
  return flat;
}

function twiceError(name: string): AgentError {
  const advice = "Remove one, or give one another name: { ...it, name: 'other' }.";
  return misconfigured(`Two middleware in \`use\` are named "${name}". ${advice}`);
}

/**
 * Completes the options of an agent with the defaults that its middleware sets, then with those of
 * the kernel. Later middleware overrides earlier middleware. An `undefined` option counts as not
 * set. `limits` and `generate` are merged field by field. In `generate`, `undefined` and `null`
 * remove the value of earlier middleware.
 */
export function withDefaults(options: KernelOptions, use: readonly Middleware[]): AgentSettings {
  const sources: OptionSource[] = [...use.flatMap(({ defaults }) => defaults ?? []), options];
  const settings = sources.reduce(mergeOptions, kernelDefaults as AgentSettings);
  return { ...settings, generate: withoutRemoved(settings.generate) };
}

/** Returns settings without the values that are removed. */
export function withoutRemoved(settings: GenerateSettings): GenerateOptions {
  return pickFields(settings, (_key, value) => value != null) as GenerateOptions;
}

type OptionSource = Partial<Pick<AgentDefaults, 'limits' | 'generate'>>;

function mergeOptions<D extends AgentSettings>(defaults: D, options: OptionSource): D {
  const limits = { ...defaults.limits, ...omitUndefined(options.limits) };
  const generate = { ...defaults.generate, ...options.generate } as GenerateOptions;
  return { ...defaults, ...omitUndefined(options), limits, generate };
}

function isList(item: UseList[number]): item is UseList {
  return Array.isArray(item);
}
