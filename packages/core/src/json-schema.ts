export { jsonSchema } from './schema/json-schema.ts';
export type { JsonSchemaDraft, JsonSchemaOptions } from './schema/json-schema.ts';
