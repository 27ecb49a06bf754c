import { misconfigured } from '../error/agent-error.ts';
import {
  kernelDefaults,
  type AgentDefaults,
  type AgentSettings,
  type KernelOptions,
} from './kernel-options.ts';
import { omitUndefined, pickFields } from '../message/json.ts';
import type { GenerateOptions, GenerateSettings } from '../model/chat-model.ts';
import type { Middleware, UseList } from './middleware.ts';
import { array } from '../error/kinds.ts';
import { checkFields } from '../error/check-fields.ts';

/** Parts of presets. A later part replaces them, even if the preset was spread into the list. */
const presetParts = new WeakSet<Middleware>();

/**
 * Marks middleware as the parts of a preset, and returns the list. A user's middleware then
 * replaces the part of the same name, also if the user spreads the preset into `use`.
 */
export function definePreset(parts: readonly Middleware[]): readonly Middleware[] {
  checkFields('definePreset()', { parts }, { parts: array });
  for (const part of parts) presetParts.add(part);
  return parts;
}

/**
 * Returns the middleware of a `use` list as one flat list. A part of a preset is replaced by later
 * middleware of the same name, in the same place. A nested list counts as a preset. Throws
 * `CONFIGURATION` for two other parts of one name.
 */
export function partsOf(use: UseList): Middleware[] {
  // A replaced part keeps its place in the map.
  const parts = new Map<unknown, Middleware>();
  const nested = new Set<Middleware>();
  for (const item of use) {
    const isNested = isList(item);
    for (const part of isNested ? partsOf(item) : [item]) {
      const key = part.name || {};
      const earlier = parts.get(key);
      if (earlier && !presetParts.has(earlier) && !nested.has(earlier))
        throw misconfigured(
          `Two parts of \`use\` are named "${part.name}". Remove one of them. ` +
            "To keep both, give one another name: { ...part, name: 'other' }.",
        );
      parts.set(key, part);
      if (isNested) nested.add(part);
    }
  }
  return [...parts.values()];
}

/**
 * Completes the options of an agent with the defaults that its middleware sets, then with those of
 * the kernel. Later middleware overrides earlier middleware. An `undefined` option counts as not
 * set. `limits` and `generate` are merged field by field. In `generate`, `undefined` and `null`
 * remove the value of earlier middleware.
 */
export function withDefaults(options: KernelOptions, parts: readonly Middleware[]): AgentSettings {
  const sources: OptionSource[] = [...parts.flatMap(({ defaults }) => defaults ?? []), options];
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
