export { ScriptedModel } from './testing/scripted-model.ts';
export type {
  ScriptedModelOptions,
  ScriptedReply,
  ScriptedStep,
  ScriptedToolCall,
} from './testing/scripted-model.ts';
export { memoryConformance } from './testing/memory-conformance.ts';
export type { MemoryConformanceOptions } from './testing/memory-conformance.ts';
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
} from './testing/fault-injection.ts';
export type {
  FaultHost,
  FaultOptions,
  FaultReport,
  FaultScenario,
  LifeReport,
} from './testing/fault-injection.ts';
export { makeWitness, MortalProcess } from './testing/mortal-process.ts';
export type { Life, Witness } from './testing/mortal-process.ts';
export type { TestFramework } from './testing/test-framework.ts';
