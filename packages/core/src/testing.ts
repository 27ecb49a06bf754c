export { ScriptedModel } from './testing/scripted-model.ts';
export type {
  ScriptedModelOptions,
  ScriptedReply,
  ScriptedStep,
  ScriptedToolCall,
} from './testing/scripted-model.ts';
export { memoryConformance, type MemoryConformanceOptions } from './testing/memory-conformance.ts';
export { modelConformance } from './testing/model-conformance.ts';
export type {
  ConformanceCall,
  ConformanceReply,
  HttpModelUnderTest,
  OtherModelUnderTest,
} from './testing/model-conformance.ts';
export { keyValueStoreConformance } from './testing/store-conformance.ts';
export {
  injectFaults,
  isSameButInterrupted,
  liveAndDie,
  localHost,
  spreadPoints,
  type FaultHost,
  type FaultOptions,
  type FaultReport,
  type FaultScenario,
  type LifeReport,
} from './testing/fault-injection.ts';
export { makeWitness, MortalProcess, type Life, type Witness } from './testing/mortal-process.ts';
export type { TestFramework } from './testing/test-framework.ts';
