export { storeSessions } from './session/host/store-sessions.ts';
export type { StoreSessions } from './session/host/store-sessions.ts';
