export { loadState, saveState } from './state/agent-state.ts';
export type { AgentState } from './state/agent-state.ts';
export { listCheckpoints, returnToCheckpoint } from './state/checkpoints.ts';
export type { Checkpoint } from './state/checkpoints.ts';
export { append, merge, replace } from './state/state-key.ts';
export type { StateKey } from './state/state-key.ts';
export { stateKeys } from './state/state-keys.ts';
export type {
  SessionState,
  StateKeys,
  StateKeysOptions,
  StateMiddleware,
  StateSource,
} from './state/state-keys.ts';
