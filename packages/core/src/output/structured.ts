import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { InferOutput, SchemaLike } from '../schema/to-schema.ts';
import type { OutputMode } from '../loop/output-mode.ts';
import { checkAttempts, readSchema } from './output-schema.ts';
import type { OutputSpec } from './structured-answer.ts';
import { promptOutput } from './structured-prompt.ts';
import { toolOutput } from './structured-tool.ts';

export interface StructuredOptions {
  /**
   * `tool`: the model gives the value as the arguments of the tool `generate_response`. `prompt`:
   * the prompt contains the schema, and the model answers with JSON text. Default: `tool` if the
   * model takes tools, else `prompt`.
   */
  readonly mode?: 'tool' | 'prompt';
  /**
   * Invalid values until the call fails with `OUTPUT_INVALID`; default 3 (AgentScope:
   * `MAX_RETRIES`).
   */
  readonly attempts?: number;
  /**
   * Tool mode: whether to force the tool choice after an answer without a tool call, besides the
   * reminder; default true. Use false for models that refuse a forced choice, as some do while they
   * think (AgentScope: `StructuredOutputReminder`).
   */
  readonly forceTool?: boolean;
  /**
   * Prompt mode: whether to send the schema of an object as the request's `responseSchema`, too.
   * Default: only in requests without tools. Use false for servers that refuse it, true for models
   * that call tools in spite of it.
   */
  readonly responseSchema?: boolean;
}

/**
 * Makes a call end with a value that passes the schema. `AgentResult.output` has the value, typed
 * as the schema's output. Takes Zod, any Standard Schema with JSON Schema, or plain JSON Schema
 * (not checked). The stored answer has the value's JSON as its text and the value in
 * `metadata.output`. If the schema changes values, `metadata.given` has the model's own JSON. The
 * steps that led to the value do not stay in the log. Throws `CONFIGURATION`.
 */
export function structured<const S extends SchemaLike>(
  source: S,
  options: StructuredOptions = {},
): OutputMode<InferOutput<S>> {
  checkFields(
    'CONFIGURATION',
    'structured()',
    options,
    'mode:tool|prompt|? forceTool:boolean|? responseSchema:boolean|?',
  );
  const { mode, attempts = 3, forceTool = true, responseSchema } = options;
  checkAttempts('structured()', attempts);
  const spec: OutputSpec = {
    schema: readSchema('structured()', source),
    attempts,
    forceTool,
    responseSchema,
  };
  return {
    begin(context, steps) {
      const { tools } = context.model.features;
      if (mode === 'tool' && !tools) {
        throw new AgentError(
          'CONFIGURATION',
          'The model takes no tools. Use structured(schema, { mode: "prompt" }).',
        );
      }
      return (mode ?? (tools ? 'tool' : 'prompt')) === 'tool'
        ? toolOutput(context, steps, spec)
        : promptOutput(context, steps, spec);
    },
  };
}
