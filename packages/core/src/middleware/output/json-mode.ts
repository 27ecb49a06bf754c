import { checkOptions } from '../../error/check-fields.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { readSchema } from '../../schema/to-schema.ts';
import type { Schema } from '../../schema/schema.ts';
import type { InferOutput, SchemaLike } from '../../schema/to-schema.ts';
import type { OutputMode } from './output-mode.ts';
import { jsonText, textForm, yamlText, type TextFormat } from './text-form.ts';
import { valueMode } from './value-mode.ts';

export interface JsonModeOptions {
  /**
   * Number of invalid answers after which the agent call fails with `OUTPUT_INVALID`. Default 2, so
   * the model may correct its answer once (Arc Reactor).
   */
  readonly attempts?: number;
  /** See `StructuredOptions`. */
  readonly responseSchema?: boolean;
}

export interface YamlModeOptions {
  /** Parser that throws on invalid YAML, such as `parse` of `yaml` or `load` of `js-yaml`. */
  readonly parse: (text: string) => unknown;
  /** See `JsonModeOptions`. */
  readonly attempts?: number;
}

/**
 * Makes an agent call answer in JSON, with a value that fits the schema. Without a schema, the
 * value must be an object or an array. Code fences and text around the value are ignored.
 *
 * If the value is invalid, the model gets its issues and answers again. The new answer is a step of
 * the same run: it uses the same model, and its usage counts toward the run. The result's `output`
 * is the value, and its text is the value as JSON.
 *
 * Throws `CONFIGURATION` for an invalid schema or option. The agent call rejects with
 * `OUTPUT_INVALID` and the raw text in the details. (Arc Reactor parses JSON answers but does not
 * check them.)
 */
export function jsonMode(schema?: undefined, options?: JsonModeOptions): OutputMode<JsonValue>;
export function jsonMode<const S extends SchemaLike>(
  schema: S,
  options?: JsonModeOptions,
): OutputMode<InferOutput<S>>;
export function jsonMode(schema?: SchemaLike, options: JsonModeOptions = {}): OutputMode {
  checkOptions('CONFIGURATION', 'jsonMode()', options, 'attempts responseSchema:boolean|?');
  const { attempts = 2, responseSchema } = options;
  const about = { where: 'jsonMode()', source: schema, format: jsonText };
  return textMode({ ...about, attempts, responseSchema });
}

/**
 * Makes an agent call answer in YAML, which the given parser reads. The text of the answer stays
 * YAML, without a code fence. Dates in `output` are ISO strings. A single word is not an answer
 * unless the schema asks for a string. See `jsonMode` for invalid values and errors.
 */
export function yamlMode<const S extends SchemaLike>(
  schema: S,
  options: YamlModeOptions,
): OutputMode<InferOutput<S>>;
export function yamlMode(schema: undefined, options: YamlModeOptions): OutputMode<JsonValue>;
export function yamlMode(schema: SchemaLike | undefined, options: YamlModeOptions): OutputMode {
  checkOptions('CONFIGURATION', 'yamlMode()', options, 'parse:function attempts');
  const { parse, attempts = 2 } = options;
  const about = { where: 'yamlMode()', source: schema, format: yamlText(parse) };
  return textMode({ ...about, attempts, responseSchema: false });
}

interface TextMode {
  readonly where: string;
  readonly source: SchemaLike | undefined;
  readonly format: TextFormat;
  readonly attempts: number;
  readonly responseSchema: boolean | undefined;
}

function textMode({ where, source, format, attempts, responseSchema }: TextMode): OutputMode {
  const schema = source === undefined ? anything : readSchema(where, source);
  return valueMode({
    where,
    schema,
    attempts,
    form: (_context, steps) => textForm({ schema, format, responseSchema }, steps),
  });
}

const anything: Schema<unknown> = {
  jsonSchema: {},
  validate: (value) =>
    Object(value) === value
      ? { ok: true, value }
      : { ok: false, issues: ['it is not an object or array'] },
};
