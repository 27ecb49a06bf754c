import type { JsonObject } from '../message/json/json.ts';

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
