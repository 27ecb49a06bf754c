export { browserPlace } from './move/browser-place.ts';
export type { BrowserPlaceOptions } from './move/browser-place.ts';
export { movableSessions } from './move/movable-sessions.ts';
export type { MovableSessions, MoveToOptions, Places } from './move/movable-sessions.ts';
export { endpointPlace, moveSession } from '@isoloop/core/host';
export type {
  EndpointPlaceOptions,
  MoveOptions,
  SessionCopy,
  SessionPlace,
} from '@isoloop/core/host';
