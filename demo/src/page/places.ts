import { retryableOnce } from '@isoloop/core/wait';
import {
  browserPlace,
  endpointPlace,
  movableSessions,
  type MovableSessions,
  type SessionPlace,
} from '@isoloop/web-worker/move';
import type { Home } from './settings.ts';

const edge = endpointPlace(new URL('/api/chat', location.href).href);
const browser = retryableOnce(() => browserPlace());

/** The conversations, which move between this browser and the edge. */
export const conversations: MovableSessions<Home> = movableSessions({
  worker: () => placeOf('worker'),
  edge,
});

/** Returns the place with the conversations of a home. */
export async function placeOf(home: Home): Promise<SessionPlace> {
  return home === 'edge' ? edge : browser();
}
