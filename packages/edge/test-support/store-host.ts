import { DurableObject } from 'cloudflare:workers';
import { DurableStore } from '../src/durable/durable-store.ts';

export { BriefSession, TestSession } from './agent-session.ts';
export { FaultRunner } from './fault-runner.ts';

/** A Durable Object with a store. Tests call the store from outside. */
export class StoreHost extends DurableObject {
  readonly #store = new DurableStore(this.ctx.storage);

  async run(
    operation:
      | 'get'
      | 'getMany'
      | 'set'
      | 'setMany'
      | 'delete'
      | 'keys'
      | 'compareAndSet'
      | 'setManyIf',
    ...parameters: unknown[]
  ): Promise<unknown> {
    return (this.#store[operation] as (...given: unknown[]) => Promise<unknown>)(...parameters);
  }
}

const worker: ExportedHandler = { fetch: () => new Response(null, { status: 404 }) };

export default worker;
