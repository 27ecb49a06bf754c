import { ReActAgent } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { bearerToken, createAgentHandler, type AgentSetup } from '@isoloop/edge';
import { openAiRoutes } from '@isoloop/openai-api';
import { standIn } from './stand-in.ts';
import { tools } from './tools.ts';

interface Env {
  readonly MODEL: string;
  readonly MODEL_URL: string;
  readonly OPENAI_API_KEY?: string;
  readonly CLIENT_TOKEN: string;
}

const chooseModel = ({ MODEL: model, MODEL_URL: baseURL, OPENAI_API_KEY: apiKey }: Env) =>
  apiKey
    ? openai({ baseURL, model, apiKey })
    : standIn('Put your key into the file .dev.vars, and start `npm run dev` again.');

/** Creates the agent. `useAgentChat<typeof assistant>` gives a page the types of its tools. */
export const assistant = ({ env, sessionId, memory }: AgentSetup<Env>) =>
  new ReActAgent({
    name: 'assistant',
    systemPrompt: 'You are a helpful assistant. Answer briefly.',
    sessionId,
    memory,
    model: chooseModel(env),
    tools,
  });

const app = createAgentHandler<Env>({
  agent: assistant,
  authorize: bearerToken((env) => ({ me: env.CLIENT_TOKEN })),
  // OpenAI's clients talk to `/v1`.
  openai: openAiRoutes(),
});

export const ChatSession = app.Session;
export default app;
