export type { OutputMode } from './middleware/output/output-mode.ts';
export { jsonMode, structured, yamlMode } from './middleware/output/output-modes.ts';
export type {
  JsonModeOptions,
  StructuredOptions,
  YamlModeOptions,
} from './middleware/output/output-modes.ts';
export { outputItems, partialOutput } from './stream/object/partial-output.ts';
export type { DeepPartial, ItemOf, OutputSource } from './stream/object/partial-output.ts';
