import type { GenerateOptions } from '@isoloop/core';
import { fieldError } from '@isoloop/core/host';
import type { HandlerSettings, RequestBody } from '@isoloop/edge/api';
import type { OpenAiSettings } from './openai-options.ts';

/** Names of the settings that a `/v1` client may choose, if the endpoint permits it. */
export const clientSettings = ['maxTokens', 'temperature', 'topP', 'seed', 'stop'] as const;

/** Name of a setting of the model that a client may send. */
export type ClientSetting = (typeof clientSettings)[number];

interface NumberSetting {
  readonly name: Exclude<ClientSetting, 'stop'>;
  /** Names in a request. If several are set, the first one counts. */
  readonly fields: readonly string[];
  readonly min: number;
  readonly max: number;
  readonly isWhole?: boolean;
}

const numbers: readonly NumberSetting[] = [
  {
    name: 'maxTokens',
    fields: ['max_output_tokens', 'max_completion_tokens', 'max_tokens'],
    min: 1,
    max: 2 ** 53,
    isWhole: true,
  },
  { name: 'temperature', fields: ['temperature'], min: 0, max: 2 },
  { name: 'topP', fields: ['top_p'], min: 0, max: 1 },
  { name: 'seed', fields: ['seed'], min: -(2 ** 63), max: 2 ** 63, isWhole: true },
];

/**
 * Reads the model settings of a request that the endpoint permits. `findIgnoredFields` handles the
 * others. Throws `INVALID_INPUT`, with the field's name, for an invalid value.
 */
export function readSettings(
  body: RequestBody,
  { limits }: Pick<HandlerSettings, 'limits'>,
  { clientSettings: permittedSettings }: Pick<OpenAiSettings, 'clientSettings'>,
): GenerateOptions {
  const options: { -readonly [K in ClientSetting]?: GenerateOptions[K] } = {};
  for (const setting of numbers) {
    const { name, fields } = setting;
    const field = fields.find((each) => body[each] != null);
    if (field !== undefined && permittedSettings.includes(name))
      options[name] = readNumber(body[field], field, setting);
  }
  if (options.maxTokens !== undefined)
    options.maxTokens = Math.min(options.maxTokens, limits.outputTokens);
  const stop = permittedSettings.includes('stop') ? readStop(body['stop']) : [];
  if (stop.length) options.stop = stop;
  return options as GenerateOptions;
}

function readStop(value: unknown): readonly string[] {
  const stop: readonly unknown[] = [value ?? []].flat();
  if (stop.every((text): text is string => typeof text === 'string' && text !== '')) return stop;
  throw fieldError('stop', 'must be a text or a list of texts');
}

function readNumber(
  value: unknown,
  field: string,
  { min, max, isWhole = false }: NumberSetting,
): number {
  const isInRange = typeof value === 'number' && value >= min && value <= max;
  if (isInRange && !(isWhole && value % 1)) return value;
  throw fieldError(field, `must be a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`);
}
