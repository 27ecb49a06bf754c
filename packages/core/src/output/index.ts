export { jsonMode, yamlMode } from './json-and-yaml-mode.ts';
export type { JsonModeOptions, YamlModeOptions } from './json-and-yaml-mode.ts';
export type { OutputMode } from './output-mode.ts';
export { structured } from './structured.ts';
export type { StructuredOptions } from './structured.ts';
