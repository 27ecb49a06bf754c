export type { OutputMode } from './middleware/output/value-mode.ts';
export { jsonMode, yamlMode } from './middleware/output/json-mode.ts';
export type { JsonModeOptions, YamlModeOptions } from './middleware/output/json-mode.ts';
export { structured, type StructuredOptions } from './middleware/output/structured.ts';
export { outputItems, partialOutput } from './stream/object/partial-output.ts';
export type { DeepPartial, ItemOf, OutputSource } from './stream/object/partial-output.ts';
