import { currentScope, type Kind } from './things.ts';

/**
 * Lets the running test, or the file if no test runs, leave things of a kind behind. Nobody may
 * leave an unhandled rejection: a test that expects one listens for it.
 */
export function mayLeave(kind: Exclude<Kind, 'rejection'>, reason: string): void {
  if (!reason) throw new Error('mayLeave() needs a reason.');
  currentScope()?.allowed.add(kind);
}

/**
 * Hands things of a kind that the running test creates to its file, whose `afterAll` hook has to
 * end them.
 */
export function handToFile(kind: Kind): void {
  currentScope()?.handedToFile.add(kind);
}
