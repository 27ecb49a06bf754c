import { abortAllDurableObjects, evictDurableObject } from 'cloudflare:test';
import { currentScope, registry } from '../../../test/left-behind/things.ts';

/** Ends an idle Durable Object after its requests. */
export async function killObject(stub: DurableObjectStub): Promise<void> {
  await evictDurableObject(stub);
}

/** Ends a Durable Object after its requests, while a turn runs. The run does not continue. */
export async function killBusyObject(stub: DurableObjectStub): Promise<void> {
  await evictDurableObject(stub);
  forgetRunsAndTimers();
}

/** Ends all Durable Objects, also during requests. Their runs and timers do not continue. */
export async function killObjects(): Promise<void> {
  await abortAllDurableObjects();
  forgetRunsAndTimers();
}

/**
 * Forgets all runs and timers of the running test, because workerd has dropped those of its
 * objects. Other hosts that die in a test still live in its process, so the test has to end their
 * runs.
 */
function forgetRunsAndTimers(): void {
  const scope = currentScope();
  for (const [id, { kind, scope: itsScope }] of registry.things) {
    const isDropped = kind === 'run' || kind === 'timer';
    if (isDropped && itsScope === scope) registry.things.delete(id);
  }
}
