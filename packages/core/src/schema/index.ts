export { jsonSchema } from './json-schema.ts';
export type { JsonSchemaDraft, JsonSchemaOptions } from './json-schema.ts';
export type { InferOutput, Schema, SchemaLike, StandardSchema } from './schema.ts';
