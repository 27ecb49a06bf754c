export { adoptRecords } from './adopt-records.ts';
export {
  closedByMoveId,
  endedCallsKey,
  endedCallsOf,
  endedIdsOf,
  withEndedCalls,
} from './ended-calls.ts';
export { endpointHere, endpointPlace } from './endpoint-place.ts';
export type { EndpointPlaceOptions } from './endpoint-place.ts';
export { moveSession } from './move-session.ts';
export type { MoveOptions } from './move-session.ts';
export { changeOwner } from './owner-change.ts';
export type { ChooseOwner, StoredSession } from './owner-change.ts';
export type { OwnerChange, SessionCopy, SessionPlace } from './session-place.ts';
export { copyOfSession, placeWith, sessionViewOf, storePlace } from './store-place.ts';
export type { PlaceOptions, StorePlaceOptions } from './store-place.ts';
