export { loadState, saveState, type AgentState } from './state/agent-state.ts';
export { listCheckpoints, returnToCheckpoint } from './state/checkpoints.ts';
export type { Checkpoint } from './state/checkpoints.ts';
export { repairSession } from './memory/repair-session.ts';
export { appendKey, mergeKey, replaceKey, type StateKey } from './state/state-key.ts';
export { stateKeys } from './state/state-keys.ts';
export type {
  SessionState,
  StateKeys,
  StateKeysOptions,
  StateMiddleware,
  StateSource,
} from './state/state-keys.ts';
