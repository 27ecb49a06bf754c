import { checkFields } from '../error/check-fields.ts';
import type { JsonValue } from '../message/json.ts';
import type { Schema } from '../schema/schema.ts';
import type { InferOutput, SchemaLike } from '../schema/to-schema.ts';
import type { OutputMode } from '../loop/output-mode.ts';
import { checkAttempts, readSchema } from './output-schema.ts';
import { promptOutput } from './structured-prompt.ts';
import { jsonText, yamlText, type TextFormat } from './text-format.ts';

export interface JsonModeOptions {
  /**
   * Invalid values until the call fails with `OUTPUT_INVALID`; default 2: one repair (Arc Reactor).
   */
  readonly attempts?: number;
  /** As in `structured()`. */
  readonly responseSchema?: boolean;
}

export interface YamlModeOptions {
  /** Any parser that throws on invalid YAML, such as `parse` of `yaml` or `load` of `js-yaml`. */
  readonly parse: (text: string) => unknown;
  readonly attempts?: number;
}

/**
 * Makes a call answer in JSON: a value that fits the schema, by default an object or an array.
 * Ignores code fences and text around the value. An invalid value goes back to the model with its
 * issues, once by default. The repair is a step of the same run: it uses the same model and counts
 * in the run's usage. The result's `output` is the value, its text the value's JSON. Throws
 * `CONFIGURATION`. The call rejects with `OUTPUT_INVALID`, with the raw text in its details. (Arc
 * Reactor: response format JSON, which was parsed and not checked.)
 */
export function jsonMode(schema?: undefined, options?: JsonModeOptions): OutputMode<JsonValue>;
export function jsonMode<const S extends SchemaLike>(
  schema: S,
  options?: JsonModeOptions,
): OutputMode<InferOutput<S>>;
export function jsonMode(schema?: SchemaLike, options: JsonModeOptions = {}): OutputMode {
  checkFields('CONFIGURATION', 'jsonMode()', options, 'responseSchema:boolean|?');
  const { attempts = 2, responseSchema } = options;
  return textMode('jsonMode()', schema, jsonText, attempts, responseSchema);
}

/**
 * Does the same in YAML, with the given parser. The answer's text stays YAML, without a code fence;
 * dates in `output` are ISO strings. A bare word is not an answer unless the schema asks for one.
 */
export function yamlMode<const S extends SchemaLike>(
  schema: S,
  options: YamlModeOptions,
): OutputMode<InferOutput<S>>;
export function yamlMode(schema: undefined, options: YamlModeOptions): OutputMode<JsonValue>;
export function yamlMode(schema: SchemaLike | undefined, options: YamlModeOptions): OutputMode {
  checkFields('CONFIGURATION', 'yamlMode()', options, 'parse:function');
  const { parse, attempts = 2 } = options;
  return textMode('yamlMode()', schema, yamlText(parse), attempts, false);
}

function textMode(
  where: string,
  source: SchemaLike | undefined,
  format: TextFormat,
  attempts: number,
  responseSchema: boolean | undefined,
): OutputMode {
  checkAttempts(where, attempts);
  const schema = source === undefined ? anything : readSchema(where, source);
  return {
    begin: (context, steps) =>
      promptOutput(context, steps, { schema, attempts, forceTool: false, responseSchema, format }),
  };
}

const anything: Schema<unknown> = {
  jsonSchema: {},
  validate: (value) =>
    Object(value) === value
      ? { ok: true, value }
      : { ok: false, issues: ['it is not an object or array'] },
};
