export { jsonSchema, type JsonSchemaDraft, type JsonSchemaOptions } from './schema/json-schema.ts';
