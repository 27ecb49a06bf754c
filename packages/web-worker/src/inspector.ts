export { defineInspector } from './inspector/define-inspector.ts';
export type { InspectorSessionDetail, IsoloopInspector } from './inspector/define-inspector.ts';
export type { InspectorSession, InspectorSource } from './inspector/source/inspector-source.ts';
export { workerSource } from './inspector/source/worker-source.ts';
export type { WorkerSourceOptions } from './inspector/source/worker-source.ts';
export type { InspectedEvent } from './inspector/steps/event-runs.ts';
export type { ForkDraft } from './inspector/steps/fork-draft.ts';
export type { ReplayAgent, ReplaySetup } from './inspector/replay/replay-run.ts';
