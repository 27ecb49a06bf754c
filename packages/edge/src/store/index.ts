export { storeSessions } from './store-place.ts';
export type { StoreSessionsOptions } from './store-place.ts';
export type { StoreSessions } from '../settings/store-sessions.ts';
