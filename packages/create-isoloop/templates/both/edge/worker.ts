import { DurableObject } from 'cloudflare:workers';
import { SessionMemory } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { bearerToken, createAgentHandler, DurableStore, type Caller } from '@isoloop/edge';
import { llmProxy } from '@isoloop/edge/llm';
import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { createAgent, nextStep } from '../src/agent.ts';
import { remoteStore } from '../src/remote-store.ts';
import { standIn } from '../src/stand-in.ts';

interface Env {
  readonly MODEL: string;
  readonly MODEL_URL: string;
  readonly OPENAI_API_KEY?: string;
  readonly CLIENT_TOKEN: string;
  readonly CHAT_SESSION: DurableObjectNamespace;
  readonly CONVERSATIONS: DurableObjectNamespace<Conversations>;
}

type Entries = readonly (readonly [string, string])[];

/** Keeps the conversations of one user, for the agents in tabs and at the edge. */
export class Conversations extends DurableObject<Env> {
  readonly #store = new DurableStore(this.ctx.storage);

  /** Runs a method of the store. Returns its result as JSON text. */
  async call(method: string, args: readonly unknown[]): Promise<string> {
    return JSON.stringify((await this.#call(method, args)) ?? null);
  }

  async #call(method: string, [first, ...more]: readonly unknown[]): Promise<unknown> {
    switch (method) {
      case 'getMany':
        return [...(await this.#store.getMany(first as string[]))];
      case 'setMany':
        return this.#store.setMany(first as Entries);
      case 'delete':
        return this.#store.delete(first as string[]);
      case 'keys':
        return this.#store.keys(first as string);
      case 'compareAndSet': {
        const [expected, value] = more as [string | null, string];
        return this.#store.compareAndSet(first as string, expected ?? undefined, value);
      }
      default:
        throw new Error(`The store has no method ${method}.`);
    }
  }
}

const chooseModel = ({ MODEL: model, MODEL_URL: baseURL, OPENAI_API_KEY: apiKey }: Env) =>
  apiKey ? openai({ baseURL, model, apiKey }) : standIn(nextStep);
const authorize = bearerToken((env: Env) => ({ me: env.CLIENT_TOKEN }));
const callStore = (env: Env, user: string, method: string, args: readonly unknown[]) =>
  env.CONVERSATIONS.getByName(user).call(method, args);

const handler = createAgentHandler<Env>({
  authorize,
  agent: ({ env, sessionId, memory }) =>
    createAgent({ sessionId, memory, model: chooseModel(env) }),
  memory: ({ env, user, sessionId }) => {
    const store = remoteStore(
      async (method, args) => JSON.parse(await callStore(env, user, method, args)) as unknown,
    );
    return new SessionMemory(store, sessionId);
  },
  // The model for the agent in the tab.
  llm: llmProxy({
    models: ['default'],
    upstream: ({ env }) => ({
      apiKey: env.OPENAI_API_KEY,
      baseURL: env.MODEL_URL,
      model: env.MODEL,
    }),
  }),
});

/** Runs the turns of one conversation. After a reload, a page continues to read them. */
export const ChatSession = handler.Session;

const app = new Hono<{ Bindings: Env; Variables: Caller }>();
const onlyUsers = createMiddleware<{ Bindings: Env; Variables: Caller }>(async (c, next) => {
  const caller = await authorize(c.req.raw, c.env);
  if (!caller) return c.json({ error: 'The token is wrong.' }, 401);
  c.set('user', caller.user);
  return next();
});
app.get('/access', onlyUsers, (c) => c.json({ hasKey: Boolean(c.env.OPENAI_API_KEY) }));
app.post('/store/:method', onlyUsers, async (c) => {
  const args = await c.req.json<readonly unknown[]>();
  return c.body(await callStore(c.env, c.get('user'), c.req.param('method'), args));
});
app.route('/', handler);
export default app;
