export { memoryConformance } from './memory-conformance.ts';
export type { MemoryConformanceOptions } from './memory-conformance.ts';
export { modelConformance } from './model-conformance.ts';
export type { ConformanceCall, ConformanceReply } from './model-outcome.ts';
export { ScriptedModel } from './scripted-model.ts';
export type {
  ScriptedModelOptions,
  ScriptedReply,
  ScriptedStep,
  ScriptedToolCall,
} from './scripted-model.ts';
export { keyValueStoreConformance } from './store-conformance.ts';
export type { TestFramework } from './test-framework.ts';
export type { HttpModelUnderTest, OtherModelUnderTest } from './model-conformance.ts';
