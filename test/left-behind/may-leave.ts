import { currentScope, registry, type Kind } from './things.ts';

/**
 * Lets the running test, or the file if no test runs, leave things of a kind behind. Nobody may
 * leave an unhandled rejection: a test that expects one listens for it.
 */
export function mayLeave(kind: Exclude<Kind, 'rejection'>, reason: string): void {
  if (!reason) throw new Error('mayLeave() needs a reason.');
  currentScope()?.allowed.add(kind);
}

/**
 * Hands things of a kind that the running test creates to its file, whose `afterAll` hook has to end
 * them.
 */
export function handToFile(kind: Kind): void {
  currentScope()?.handedToFile.add(kind);
}

/**
 * Forgets all runs and timers that the running test has created so far. Call it after a host has
 * died, such as an aborted Durable Object, because they can no longer end.
 */
export function forgetRunsAndTimers(): void {
  const scope = currentScope();
  for (const [id, { kind, scope: itsScope }] of registry.things) {
    const isForgotten = kind === 'run' || kind === 'timer';
    if (isForgotten && itsScope === scope) registry.things.delete(id);
  }
}
