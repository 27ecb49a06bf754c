import type { JsonObject } from '../message/json.ts';

/**
 * Name of the tool that takes the structured value of an agent call. The tool's arguments are the
 * answer.
 */
export const outputToolName = 'generate_response';

/**
 * Name of the only argument of that tool if the value is not an object, or an object with a field
 * of this name. So readers of the arguments know from the first name whether the value is wrapped.
 */
export const wrappedName = 'response';

/**
 * Returns the instruction about the format of the answer. With an empty schema, it asks only for an
 * object or an array.
 */
export function formatInstruction(format: 'JSON' | 'YAML', jsonSchema: JsonObject): string {
  const shape = Object.keys(jsonSchema).length
    ? `It must fit this JSON Schema:\n${JSON.stringify(jsonSchema)}`
    : 'It must be an object or an array.';
  return `Give your final answer as ${format} alone, with no other text and no code fence. ${shape}`;
}
