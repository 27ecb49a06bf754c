import { ReActAgent, tool } from '@isoloop/core';
import { jsonSchema } from '@isoloop/core/schema';
import { structured } from '@isoloop/core/output';
import { createAgentHandler, type AgentHandlerOptions } from '@isoloop/edge';
import { kvSessions } from '@isoloop/edge/kv';
import { Hono } from 'hono';
import { release, ruledModel } from './ruled-model.ts';

export interface Env {
  readonly CHAT_KV: KVNamespace;
  readonly CHAT_SESSION?: DurableObjectNamespace;
  readonly SESSION_SECRET: string;
}

const place = jsonSchema({
  type: 'object',
  properties: { place: { type: 'string' } },
  required: ['place'],
});

const note = jsonSchema({
  type: 'object',
  properties: { note: { type: 'string' }, done: { type: 'boolean' } },
  required: ['note', 'done'],
});

const options: AgentHandlerOptions<Env> = {
  // The interval is shorter than the model's pauses, so that keep-alive comments come between its
  // words.
  limits: { keepAliveMs: 20 },
  approvals: 'at-least-once',
  kv: kvSessions(),
  agent: ({ sessionId, memory }) =>
    new ReActAgent({
      name: 'assistant',
      sessionId,
      memory,
      model: ruledModel(sessionId),
      use: sessionId.startsWith('note') ? [...structured(note, { mode: 'prompt' })] : [],
      tools: [
        tool({ name: 'weather', description: 'The weather', input: place, execute: () => 'rain' }),
        tool({
          name: 'remove',
          description: 'Removes all',
          input: place,
          needsApproval: true,
          execute: () => 'removed',
        }),
        tool({
          name: 'location',
          description: 'Where the user is; told by the page',
          input: { type: 'object' },
        }),
      ],
    }),
};
const handler = createAgentHandler<Env>(options);
const brief = createAgentHandler<Env>({
  ...options,
  limits: { keepAliveMs: 20, afterDisconnectMs: 0 },
});

export const ChatSession: typeof handler.Session = handler.Session;

const app = new Hono<{ Bindings: Env }>()
  .get('/healthz', (c) => c.json({ ok: true }))
  .post('/release/:id', (c) => {
    release(c.req.param('id'));
    return c.body(null, 204);
  })
  .get('/kv/api/mine', (c) => c.text('mine'))
  .route('/kv', handler)
  .route('/kv-brief', brief)
  .route('/do', handler);

export default {
  fetch: (request, env, context) => {
    const { CHAT_SESSION, ...inKv } = env;
    const inObjects = new URL(request.url).pathname.startsWith('/do/');
    return app.fetch(
      request,
      { ...inKv, ...(inObjects && CHAT_SESSION && { CHAT_SESSION }) },
      context,
    );
  },
} satisfies ExportedHandler<Env>;
