import { misconfigured } from '../error/agent-error.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { boolean, natural, oneOf, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { readSchema, type InferOutput, type SchemaLike } from '../schema/schema.ts';
import { outputMode, type OutputMode } from './output-mode.ts';
import { textForm } from './text-form.ts';
import { toolForm } from './tool-form.ts';
import { withObjectWriter } from './written-output.ts';

/** How `structured()` gets a value from the model, and how often the model may correct it. */
export interface StructuredOptions {
  /**
   * `tool`: the model passes the value as the arguments of the tool `generate_response`. `prompt`:
   * the prompt contains the schema, and the model answers with JSON text. Default: `tool` if the
   * model supports tools, else `prompt`.
   */
  readonly mode?: 'tool' | 'prompt';
  /**
   * Number of invalid answers after which the agent call fails with `OUTPUT_INVALID`. Default: 3.
   * Source: AgentScope, `MAX_RETRIES`.
   */
  readonly attempts?: number;
  /**
   * Whether to force a call of `generate_response` after the model answered without it. The model
   * gets a reminder in any case. Applies to mode `tool`. Default: true. If the server refuses to
   * force a call, as some do with thinking, the request is repeated without. Source: AgentScope,
   * `StructuredOutputReminder`.
   */
  readonly forceTool?: boolean;
  /**
   * Whether to send the schema as the request's `responseSchema` too, if it is an object schema.
   * Applies to mode `prompt`. Default: only in requests without tools. Use false for servers that
   * reject `responseSchema`. Use true for models that can call tools with it.
   *
   * In mode `tool`, it decides about the attempt after a forced call that came back as text. This
   * attempt asks for JSON text with the schema. Default: if the model has the feature
   * `responseSchema`.
   */
  readonly responseSchema?: boolean;
}

/**
 * Makes an agent call end with a value that passes the schema. `AgentResult.output` contains the
 * value, with the type of the schema's output. The schema may be Zod, any Standard Schema with JSON
 * Schema, or plain JSON Schema. Plain JSON Schema is not validated.
 *
 * The text of the stored answer is the value as JSON, and `metadata.output` is the value. If the
 * schema changes values, `metadata.outputJson` is the JSON that the model wrote. The messages that
 * led to the value are removed from the session log. Throws `CONFIGURATION` for an invalid schema
 * or option.
 *
 * @example
 * const output = structured(z.object({ total: z.number() }));
 * const bill = (await agent.call('What do I owe?', { output })).output;
 */
export function structured<const S extends SchemaLike>(
  source: S,
  options: StructuredOptions = {},
): OutputMode<InferOutput<S>> {
  checkOptions('structured()', options, structuredOptions);
  const { mode, attempts = 3, forceTool = true, responseSchema } = options;
  const schema = readSchema('structured()', source);
  const output = outputMode(attempts, (run) => {
    const { tools, responseSchema: takesSchema = false } = run.model.features;
    if (mode === 'tool' && !tools)
      throw misconfigured('The model takes no tools. Use structured(schema, { mode: "prompt" }).');
    return tools && mode !== 'prompt'
      ? toolForm(schema, { forceTool, takesSchema: responseSchema ?? takesSchema }, run)
      : textForm(run, schema, { responseSchema });
  });
  return withObjectWriter(output) as OutputMode<InferOutput<S>>;
}

const structuredOptions: OptionTable<StructuredOptions> = {
  mode: optional(oneOf('tool', 'prompt')),
  attempts: optional(natural),
  forceTool: optional(boolean),
  responseSchema: optional(boolean),
};
