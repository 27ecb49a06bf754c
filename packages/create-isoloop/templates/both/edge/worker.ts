import { openai } from '@isoloop/core/openai';
import { bearerToken, createAgentHandler } from '@isoloop/edge';
import { llmProxy } from '@isoloop/edge/llm';
import { sessionMoves } from '@isoloop/edge/move';
import { Hono } from 'hono';
import { createAgent, nextStep } from '../src/agent.ts';
import { standIn } from '../src/stand-in.ts';

interface Env {
  readonly MODEL: string;
  readonly MODEL_URL: string;
  readonly OPENAI_API_KEY?: string;
  readonly CLIENT_TOKEN: string;
  readonly CHAT_SESSION: DurableObjectNamespace;
}

const chooseModel = ({ MODEL: model, MODEL_URL: baseURL, OPENAI_API_KEY: apiKey }: Env) =>
  apiKey ? openai({ baseURL, model, apiKey }) : standIn(nextStep);
const authorize = bearerToken((env: Env) => ({ me: env.CLIENT_TOKEN }));

const handler = createAgentHandler<Env>({
  authorize,
  agent: ({ env, sessionId, memory }) =>
    createAgent({ sessionId, memory, model: chooseModel(env) }),
  // Conversations move to the tab and back.
  moves: sessionMoves(),
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

/**
 * Keeps a conversation at the edge, and runs its turns. After a reload, a page continues to read.
 */
export const ChatSession = handler.Session;

const app = new Hono<{ Bindings: Env }>();
app.get('/access', async (c) => {
  const caller = await authorize(c.req.raw, c.env);
  if (!caller) return c.json({ error: 'The token is wrong.' }, 401);
  return c.json({ hasKey: Boolean(c.env.OPENAI_API_KEY) });
});
app.route('/', handler);
export default app;
