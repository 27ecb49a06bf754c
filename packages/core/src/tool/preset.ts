import { AgentError } from '../error/agent-error.ts';
import { isRecord } from '../message/json/is-record.ts';
import type { JsonObject } from '../message/json/json.ts';
import type { Schema } from '../schema/schema.ts';
import type { ForkOptions } from './set/tool-set.ts';

/**
 * Returns the schema without the preset parameters. Its `validate` adds the preset values to the
 * arguments and then checks all of them.
 */
export function presetInput(
  name: string,
  whole: Schema<unknown>,
  preset: JsonObject,
  priority: ForkOptions['presetPriority'],
): Schema<unknown> {
  const { properties, required, ...rest } = whole.jsonSchema as {
    readonly properties?: JsonObject;
    readonly required?: readonly string[];
  };
  const shown = { ...properties };
  for (const key of Object.keys(preset)) {
    if (!Object.hasOwn(shown, key))
      throw new AgentError('CONFIGURATION', `The tool "${name}" has no parameter "${key}".`);
    delete shown[key];
  }
  return {
    jsonSchema: {
      ...rest,
      properties: shown,
      required: required?.filter((key) => key in shown),
    } as JsonObject,
    validate: (value) =>
      isRecord(value) && !Array.isArray(value)
        ? whole.validate({ ...preset, ...value, ...(priority === 'preset' && preset) })
        : { ok: false, issues: ['they are not an object'] },
  };
}
