import { AgentError } from '../error/agent-error.ts';
import type { Schema } from '../schema/schema.ts';
import { toSchema, type SchemaLike } from '../schema/to-schema.ts';

/** Throws `CONFIGURATION` for what is no schema, or has no JSON Schema. */
export function readSchema(where: string, source: SchemaLike): Schema<unknown> {
  if (Object(source) !== source || Array.isArray(source))
    throw new AgentError('CONFIGURATION', `${where} needs a schema.`);
  const schema = toSchema(source);
  try {
    // Read once: libraries derive it anew each time, and some types have none.
    const { jsonSchema } = schema;
    // The model is told it as JSON: throws for what has none.
    JSON.stringify(jsonSchema);
    return { jsonSchema, validate: (value) => schema.validate(value) };
  } catch (error) {
    throw AgentError.from(error, 'CONFIGURATION');
  }
}

export function checkAttempts(where: string, attempts: number): void {
  if (Number.isInteger(attempts) && attempts >= 1) return;
  throw new AgentError(
    'CONFIGURATION',
    `${where}: attempts must be a whole number from 1 on, not ${String(attempts)}.`,
  );
}
