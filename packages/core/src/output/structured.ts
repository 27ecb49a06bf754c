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
   * `tool`: the model gives the value as the arguments of a tool, `generate_response`. `prompt`: it
   * is told the schema and answers with JSON text. Default: `tool` where the model takes tools,
   * else `prompt`.
   */
  readonly mode?: 'tool' | 'prompt';
  /**
   * Values the model may try that do not pass, before the call fails with `OUTPUT_INVALID`; default
   * 3 (AgentScope: `MAX_RETRIES`).
   */
  readonly attempts?: number;
  /**
   * Tool mode: after an answer without a tool call, whether the tool choice is forced besides the
   * reminder; default true. False for models that refuse it, as some do while they think
   * (AgentScope: `StructuredOutputReminder`).
   */
  readonly forceTool?: boolean;
  /**
   * Prompt mode: whether the schema of an object is also the request's `responseSchema`. Default:
   * in requests without tools. False for servers that refuse it; true for models that call tools in
   * spite of it.
   */
  readonly responseSchema?: boolean;
}

/**
 * Has a call end with a value that passes the schema, typed as its output, in `AgentResult.output`:
 * Zod, any Standard Schema with JSON Schema, or plain JSON Schema (not checked). The stored
 * answer's text is the value's JSON, its `metadata.output` the value; what it took to get there
 * does not stay in the log. Throws `CONFIGURATION`.
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
          'The model takes no tools: structured(schema, { mode: "prompt" }) works without.',
        );
      }
      return (mode ?? (tools ? 'tool' : 'prompt')) === 'tool'
        ? toolOutput(context, steps, spec)
        : promptOutput(context, steps, spec);
    },
  };
}
