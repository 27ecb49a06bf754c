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
export function endsWithFile(kind: Kind): void {
  currentScope()?.endedByFile.add(kind);
}

/**
 * Notes that a host has died, such as an aborted Durable Object, or a host whose death the test
 * simulates. Its runs and timers never continue, so the check no longer waits for those that the
 * test has created so far.
 */
export function noteDeadHost(): void {
  const scope = currentScope();
  for (const [id, thing] of registry.things) {
    const isOfHost = thing.kind === 'run' || thing.kind === 'timer';
    if (isOfHost && thing.scope === scope) registry.things.delete(id);
  }
}
