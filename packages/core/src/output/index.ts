export { jsonMode, yamlMode } from './json-and-yaml-mode.ts';
export type { JsonModeOptions, YamlModeOptions } from './json-and-yaml-mode.ts';
export { failureText, keepAlive, objectMediaType } from './object/object-format.ts';
export type { ObjectWriter } from './object/object-writer.ts';
export type { OutputMode } from './output-mode.ts';
export { structured } from './structured.ts';
export type { StructuredOptions } from './structured.ts';
export { objectWriterOf } from './written-output.ts';
