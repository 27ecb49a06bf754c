export { jsonSchema } from './json-schema.ts';
export type { JsonSchemaDraft, JsonSchemaOptions } from './json-schema.ts';
export { outputToolName } from './output-format.ts';
export { objectInput, readSchema, textIn } from './schema.ts';
export type { InferOutput, Schema, SchemaLike, StandardSchema, Validation } from './schema.ts';
