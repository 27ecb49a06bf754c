import { AgentError } from '../error/agent-error.ts';
import type { Schema } from './schema.ts';
import { toSchema, type SchemaLike } from './to-schema.ts';

/** Reads a schema. Throws `CONFIGURATION` if `source` is not a schema or has no JSON Schema. */
export function readSchema(where: string, source: SchemaLike): Schema<unknown> {
  if (Object(source) !== source || Array.isArray(source))
    throw new AgentError('CONFIGURATION', `${where} needs a schema.`);
  const schema = toSchema(source, `${where}: the schema`);
  try {
    // The model gets the schema as JSON, so this line throws if the schema has no JSON form.
    JSON.stringify(schema.jsonSchema);
    return schema;
  } catch (error) {
    throw AgentError.from(error, 'CONFIGURATION');
  }
}
