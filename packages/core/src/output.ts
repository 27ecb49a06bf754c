export type { OutputAnswer, OutputMode, OutputRun } from './loop/output-mode.ts';
export { jsonMode, yamlMode } from './output/json-mode.ts';
export type { JsonModeOptions, YamlModeOptions } from './output/json-mode.ts';
export { structured } from './output/structured.ts';
export type { StructuredOptions } from './output/structured.ts';
