export { ScriptedModel } from './testing/scripted-model.ts';
export type {
  ScriptedModelOptions,
  ScriptedReply,
  ScriptedStep,
  ScriptedToolCall,
} from './testing/scripted-model.ts';
export { memoryConformance, type MemoryConformanceOptions } from './testing/memory-conformance.ts';
export { modelConformance } from './testing/model-conformance.ts';
export type { HttpModelUnderTest, OtherModelUnderTest } from './testing/model-conformance.ts';
export type { ConformanceCall, ConformanceReply } from './testing/model-outcome.ts';
export { brokenRules } from './testing/request-rules/broken-rules.ts';
export type { BrokenRule, RequestWire } from './testing/request-rules/broken-rules.ts';
export { keyValueStoreConformance } from './testing/store-conformance.ts';
export type { TestFramework } from './testing/test-framework.ts';
