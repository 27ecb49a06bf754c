export { browserPlace } from './browser-place.ts';
export type { BrowserPlaceOptions } from './browser-place.ts';
export { movableSessions } from './movable-sessions.ts';
export type { MovableSessions, MoveToOptions, Places } from './movable-sessions.ts';
export { endpointPlace, moveSession } from '@isoloop/core/move';
export type {
  EndpointPlaceOptions,
  MoveOptions,
  SessionCopy,
  SessionPlace,
} from '@isoloop/core/move';
