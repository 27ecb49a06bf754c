export type { OutputMode } from './middleware/output/output-mode.ts';
export { jsonMode, yamlMode } from './middleware/output/json-and-yaml-mode.ts';
export { structured } from './middleware/output/structured.ts';
export type { JsonModeOptions, YamlModeOptions } from './middleware/output/json-and-yaml-mode.ts';
export type { StructuredOptions } from './middleware/output/structured.ts';
export { outputItems, partialOutput } from './stream/object/partial-output.ts';
export type { DeepPartial, ItemOf, OutputSource } from './stream/object/partial-output.ts';
