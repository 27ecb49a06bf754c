export { loadState, saveState } from './agent-state.ts';
export type { AgentState } from './agent-state.ts';
export { listCheckpoints, returnToCheckpoint } from './checkpoints.ts';
export type { Checkpoint } from './checkpoints.ts';
export { appendKey, mergeKey, replaceKey } from './state-key.ts';
export type { StateKey } from './state-key.ts';
export { stateKeys } from './state-keys.ts';
export type { StateKeys, StateKeysOptions, StateMiddleware, StateSource } from './state-keys.ts';
