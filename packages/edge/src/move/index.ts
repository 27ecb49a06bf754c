export { sessionMoves } from './session-moves.ts';
export type { SessionMoves } from '../settings/session-moves.ts';
