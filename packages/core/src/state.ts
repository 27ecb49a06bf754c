export { loadState, saveState, type AgentState } from './middleware/state/agent-state.ts';
export { listCheckpoints, returnToCheckpoint } from './middleware/state/checkpoints.ts';
export type { Checkpoint } from './middleware/state/checkpoints.ts';
export { repairSession } from './memory/repair-session.ts';
export { appendKey, mergeKey, replaceKey, type StateKey } from './state/state-key.ts';
export { stateKeys } from './middleware/state/state-keys.ts';
export type {
  SessionState,
  StateKeys,
  StateKeysOptions,
  StateMiddleware,
  StateSource,
} from './middleware/state/state-keys.ts';
