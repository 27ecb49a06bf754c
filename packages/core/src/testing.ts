export { ScriptedModel } from './testing/scripted-model.ts';
export type { ScriptedModelOptions, ScriptedReply, ScriptedStep, ScriptedToolCall } from './testing/scripted-model.ts';
