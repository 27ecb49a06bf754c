export { storeSessions } from './store-sessions.ts';
export type { StoreSessionsOptions } from './store-sessions.ts';
