import { checkOptions } from '../error/options/check-options.ts';
import { boolean, func, natural, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { JsonValue } from '../message/json.ts';
import { readSchema, type InferOutput, type Schema, type SchemaLike } from '../schema/schema.ts';
import { outputMode, type OutputMode } from './output-mode.ts';
import {
  jsonSyntax,
  textForm,
  yamlSyntax,
  type TextFormOptions,
  type TextSyntax,
} from './text-form.ts';
import { withObjectWriter } from './written-output.ts';

/**
 * How often the model may correct an invalid answer of `jsonMode()`, and whether the provider gets
 * the schema.
 */
export interface JsonModeOptions {
  /**
   * Number of invalid answers after which the agent call fails with `OUTPUT_INVALID`. Default: 2,
   * so the model may correct its answer once. Source: Arc Reactor.
   */
  readonly attempts?: number;
  /** See `StructuredOptions`. */
  readonly responseSchema?: boolean;
}

/** The parser of `yamlMode()`, and how often the model may correct an invalid answer. */
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
 * `OUTPUT_INVALID` and the raw text in the details.
 */
export function jsonMode(schema?: undefined, options?: JsonModeOptions): OutputMode<JsonValue>;
export function jsonMode<const S extends SchemaLike>(
  schema: S,
  options?: JsonModeOptions,
): OutputMode<InferOutput<S>>;
export function jsonMode(schema?: SchemaLike, options: JsonModeOptions = {}): OutputMode {
  checkOptions('jsonMode()', options, jsonModeOptions);
  const checkedSchema = schemaOf('jsonMode()', schema);
  return withObjectWriter(textMode(() => checkedSchema, jsonSyntax, options));
}

const jsonModeOptions: OptionTable<JsonModeOptions> = {
  attempts: optional(natural),
  responseSchema: optional(boolean),
};

/**
 * Same as `jsonMode`, for a client's schema that the guards of an agent call check first. A message
 * of the user has the schema, because a client must not write into the system prompt.
 * `getSchema` returns the schema, or `undefined` for any JSON. It is called once in each run, after
 * the guards.
 */
export function clientJsonMode(getSchema: () => SchemaLike | undefined): OutputMode {
  return textMode(() => schemaOf('clientJsonMode()', getSchema()), jsonSyntax, {
    origin: 'client',
  });
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
  checkOptions('yamlMode()', options, yamlModeOptions);
  const checkedSchema = schemaOf('yamlMode()', schema);
  const syntax = yamlSyntax(options.parse);
  const mode = textMode(() => checkedSchema, syntax, { ...options, responseSchema: false });
  return withObjectWriter(mode);
}

const yamlModeOptions: OptionTable<YamlModeOptions> = { parse: func, attempts: optional(natural) };

function textMode(
  getSchema: () => Schema<unknown>,
  syntax: TextSyntax,
  {
    attempts = 2,
    responseSchema,
    origin = 'program',
  }: JsonModeOptions & Pick<TextFormOptions, 'origin'>,
): OutputMode {
  return outputMode(attempts, (run) =>
    textForm(run, getSchema(), { responseSchema, syntax, origin }),
  );
}

function schemaOf(where: string, source: SchemaLike | undefined): Schema<unknown> {
  return source === undefined ? anything : readSchema(where, source);
}

const anything: Schema<unknown> = {
  jsonSchema: {},
  validate: (value) =>
    Object(value) === value
      ? { ok: true, value }
      : { ok: false, issues: ['it is not an object or array'] },
};
