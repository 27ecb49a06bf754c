export { sessionMoves } from './routes/session-moves.ts';
export type { SessionMoves } from './handler-parts.ts';
