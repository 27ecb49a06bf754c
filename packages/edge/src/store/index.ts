export { storeSessions } from './store-sessions.ts';
export type { StoreSessionsOptions } from './store-sessions.ts';
export type { SessionHomes } from '../settings/session-home.ts';
