export { storeSessions } from './session/host/store-sessions.ts';
export type { StoreSessionsOptions } from './session/host/store-sessions.ts';
export type { StoreSessions } from './handler-parts.ts';
