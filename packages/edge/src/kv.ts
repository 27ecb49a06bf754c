export { kvSessions } from './store/kv-sessions.ts';
export type { KvSessions } from './store/kv-sessions.ts';
