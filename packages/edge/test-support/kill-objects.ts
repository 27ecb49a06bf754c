import { abortAllDurableObjects, evictDurableObject } from 'cloudflare:test';
import { forgetRunsAndTimers } from '../../../test/left-behind/may-leave.ts';

/** Ends a Durable Object after its requests. Its runs and timers do not continue. */
export async function killObject(stub: DurableObjectStub): Promise<void> {
  await evictDurableObject(stub);
  forgetRunsAndTimers();
}

/** Ends all Durable Objects, also during requests. Their runs and timers do not continue. */
export async function killObjects(): Promise<void> {
  await abortAllDurableObjects();
  forgetRunsAndTimers();
}
