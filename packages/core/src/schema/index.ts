export { jsonSchema } from './json-schema.ts';
export type { JsonSchemaDraft, JsonSchemaOptions } from './json-schema.ts';
export type { InferOutput, Schema, SchemaLike, StandardSchema, Validation } from './schema.ts';
