export { storeSessions } from './store-place.ts';
export type { StoreSessionsOptions } from './store-place.ts';
export type { SessionHomes } from '../settings/session-home.ts';
