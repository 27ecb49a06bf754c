export { kvSessions } from './session/host/kv-sessions.ts';
export type { KvSessions } from './handler-parts.ts';
