import type { GenerateOptions } from '@isoloop/core';
import type { HandlerSettings } from '../handler-options.ts';
import type { OpenAiSettings } from './openai-options.ts';
import { fieldError } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';

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
  /** Value that changes nothing. It is always accepted, because some clients send all settings. */
  readonly neutral?: number;
}

const numbers: readonly NumberSetting[] = [
  {
    name: 'maxTokens',
    fields: ['max_output_tokens', 'max_completion_tokens', 'max_tokens'],
    min: 1,
    max: 2 ** 53,
    isWhole: true,
  },
  { name: 'temperature', fields: ['temperature'], min: 0, max: 2, neutral: 1 },
  { name: 'topP', fields: ['top_p'], min: 0, max: 1, neutral: 1 },
  { name: 'seed', fields: ['seed'], min: -(2 ** 63), max: 2 ** 63, isWhole: true },
];

/**
 * Reads the model settings of a request. Throws `INVALID_INPUT`, with the field's name, for an
 * invalid value, and for a setting that the endpoint does not permit.
 */
export function readSettings(
  body: RequestBody,
  { limits }: Pick<HandlerSettings, 'limits'>,
  { clientSettings: permittedSettings }: Pick<OpenAiSettings, 'clientSettings'>,
): GenerateOptions {
  const options: { -readonly [K in ClientSetting]?: GenerateOptions[K] } = {};
  const permits = (name: ClientSetting, field: string, isNeutral = false): boolean => {
    if (permittedSettings.includes(name)) return true;
    if (isNeutral) return false;
    const advice = `name ${name} in clientSettings of openAiRoutes()`;
    throw fieldError(field, `is not passed on to the model: ${advice}`);
  };
  for (const setting of numbers) {
    const { name, fields, neutral } = setting;
    const field = fields.find((each) => body[each] != null);
    if (field === undefined) continue;
    const value = readNumber(body[field], field, setting);
    if (permits(name, field, value === neutral)) options[name] = value;
  }
  if (options.maxTokens !== undefined)
    options.maxTokens = Math.min(options.maxTokens, limits.outputTokens);
  const stop: readonly unknown[] = [body['stop'] ?? []].flat();
  if (!stop.every((text) => typeof text === 'string' && text))
    throw fieldError('stop', 'must be a text or a list of texts');
  if (stop.length && permits('stop', 'stop')) options.stop = stop as readonly string[];
  return options as GenerateOptions;
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
