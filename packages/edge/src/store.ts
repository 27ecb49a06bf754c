export { storeSessions } from './session/host/store-sessions.ts';
export type { StoreSessions, StoreSessionsOptions } from './session/host/store-sessions.ts';
