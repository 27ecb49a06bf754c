import type { GenerateOptions } from '@isoloop/core';
import type { HandlerSettings } from '../handler-options.ts';
import { invalidField } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';

/** Names of the settings that a `/v1` client may choose, if the endpoint permits it. */
export const clientSettings = ['maxTokens', 'temperature', 'topP', 'seed', 'stop'] as const;

export type ClientSetting = (typeof clientSettings)[number];

interface NumberSetting {
  readonly name: Exclude<ClientSetting, 'stop'>;
  /** Names in the body of a request. The first one that is set counts. */
  readonly fields: readonly string[];
  readonly least: number;
  readonly most: number;
  readonly isWhole?: boolean;
  /** Value of clients that send all settings. It changes nothing, so it is always accepted. */
  readonly usual?: number;
}

const numbers: readonly NumberSetting[] = [
  {
    name: 'maxTokens',
    fields: ['max_output_tokens', 'max_completion_tokens', 'max_tokens'],
    least: 1,
    most: 2 ** 53,
    isWhole: true,
  },
  { name: 'temperature', fields: ['temperature'], least: 0, most: 2, usual: 1 },
  { name: 'topP', fields: ['top_p'], least: 0, most: 1, usual: 1 },
  { name: 'seed', fields: ['seed'], least: -(2 ** 63), most: 2 ** 63, isWhole: true },
];

/**
 * Reads the model settings of a request. Throws `INVALID_INPUT`, with the field's name, for an
 * invalid value, and for a setting that the endpoint does not permit.
 */
export function readSettings(
  body: RequestBody,
  { clientSettings: permitted, limits }: Pick<HandlerSettings, 'clientSettings' | 'limits'>,
): GenerateOptions {
  const read: { -readonly [K in ClientSetting]?: GenerateOptions[K] } = {};
  const permits = (name: ClientSetting, field: string, isUsual = false): boolean => {
    if (permitted.includes(name)) return true;
    if (isUsual) return false;
    const advice = `name ${name} in clientSettings of createAgentHandler`;
    throw invalidField(field, `is not passed on to the model: ${advice}`);
  };
  for (const { name, fields, least, most, isWhole = false, usual } of numbers) {
    const field = fields.find((each) => body[each] != null);
    if (field === undefined) continue;
    const value = Number(body[field]);
    if (value !== body[field] || value < least || value > most || (isWhole && value % 1))
      throw invalidField(
        field,
        `must be a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}`,
      );
    if (permits(name, field, value === usual)) read[name] = value;
  }
  if (read.maxTokens !== undefined) read.maxTokens = Math.min(read.maxTokens, limits.outputTokens);
  const stop: readonly unknown[] = [body['stop'] ?? []].flat();
  if (!stop.every((text) => typeof text === 'string' && text))
    throw invalidField('stop', 'must be a text or a list of texts');
  if (stop.length && permits('stop', 'stop')) read.stop = stop as readonly string[];
  return read as GenerateOptions;
}
