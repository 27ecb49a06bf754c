export { sessionMoves } from './session-moves.ts';
