import { SessionMemory, type Decision } from '@isoloop/core';
import { adoptRecords } from '@isoloop/core/move';
import { createAgentHandler, DurableStore } from '@isoloop/edge';
import { kvSessions, KvStore } from '@isoloop/edge/kv';
import { payer } from './payer.ts';

type Kv = ConstructorParameters<typeof KvStore>[0];
type Storage = ConstructorParameters<typeof DurableStore>[0];
interface Env {
  readonly CHAT_KV: Kv;
  readonly MOVED: {
    idFromName(name: string): unknown;
    get(id: unknown): { fetch(request: Request): Promise<Response> };
  };
}

const handler = createAgentHandler<Env>({
  agent: ({ sessionId, memory }) => payer('in KV', sessionId, memory),
  authorize: () => ({ user: 'ann' }),
  approvals: 'at-least-once',
  kv: kvSessions(),
});

/** Reads (`GET`) or stores (`PUT`) the records of a conversation. */
async function move(request: Request, memory: SessionMemory): Promise<Response> {
  if (request.method === 'GET') return Response.json(await memory.records());
  await adoptRecords(memory, (await request.json()) as never);
  return new Response(null, { status: 204 });
}

/** Durable Object with one conversation in its database. */
export class Moved {
  readonly #storage: Storage;

  constructor({ storage }: { readonly storage: Storage }) {
    this.#storage = storage;
  }

  async fetch(request: Request): Promise<Response> {
    const memory = new SessionMemory(new DurableStore(this.#storage), 'moved');
    if (!request.url.endsWith('/decide')) return move(request, memory);
    const agent = payer('in the object', 'moved', memory);
    return Response.json(await agent.call([(await request.json()) as Decision]));
  }
}

/**
 * Serves the agent in KV, and the conversations' records at `/records/kv/:id` and
 * `/records/object/:id`.
 */
export default {
  fetch(request: Request, env: Env, context: never): Response | Promise<Response> {
    const [, kind, place, id] = new URL(request.url).pathname.split('/');
    if (kind !== 'records') return handler.fetch(request, env, context);
    if (place === 'kv')
      return move(request, new SessionMemory(new KvStore(env.CHAT_KV), `ann/${id}`));
    return env.MOVED.get(env.MOVED.idFromName(id!)).fetch(request);
  },
};
