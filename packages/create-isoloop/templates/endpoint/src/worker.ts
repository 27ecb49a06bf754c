import { ReActAgent, tool } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { bearerToken, createAgentHandler, type AgentSetup } from '@isoloop/edge';
import * as z from 'zod';

interface Env {
  readonly MODEL: string;
  readonly MODEL_URL: string;
  readonly OPENAI_API_KEY: string;
  readonly CLIENT_TOKEN: string;
}

const timeIn = tool({
  name: 'time_in',
  description: 'The time in a time zone',
  input: z.object({ zone: z.enum(['Asia/Tokyo', 'Europe/Paris', 'America/New_York']) }),
  execute: ({ zone }) => ({ zone, time: new Date().toLocaleTimeString('en', { timeZone: zone }) }),
});

/** A page gets the types of the tools from it: `useAgentChat<typeof assistant>`. */
export const assistant = ({ env, sessionId, memory }: AgentSetup<Env>) =>
  new ReActAgent({
    name: 'assistant',
    systemPrompt: 'You are a helpful assistant. Answer briefly.',
    sessionId,
    memory,
    model: openai({ baseURL: env.MODEL_URL, model: env.MODEL, apiKey: env.OPENAI_API_KEY }),
    tools: [timeIn],
  });

const app = createAgentHandler<Env>({
  agent: assistant,
  authorize: bearerToken((env) => ({ me: env.CLIENT_TOKEN })),
});

export const ChatSession = app.Session;
export default app;
