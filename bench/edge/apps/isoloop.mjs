// The endpoint from the README, with a token and, in KV, with echoes. All users share one token; a
// header names the user.
import { ReActAgent } from '@isoloop/core';
import { lastTurns } from '@isoloop/core/context';
import { openai } from '@isoloop/core/openai';
import { bearerToken, createAgentHandler } from '@isoloop/edge';
import { kvSessions } from '@isoloop/edge/kv';
import { openAiRoutes } from '@isoloop/openai-api';
import { models, seenTurns, system } from '../plan.mjs';

const knowsToken = bearerToken((env) => env.TOKEN);
export const app = createAgentHandler({
  models,
  kv: kvSessions(),
  openai: openAiRoutes(),
  agent: ({ env, sessionId, memory, model }) =>
    new ReActAgent({
      name: 'assistant',
      sessionId,
      systemPrompt: system,
      memory,
      use: [lastTurns(seenTurns)],
      model: openai({ model, baseURL: `${env.WORLD}/${model}/v1`, apiKey: 'x' }),
    }),
  authorize: async (request, env) =>
    (await knowsToken(request, env)) && { user: request.headers.get('x-user') },
});

export const ChatSession = app.Session;
