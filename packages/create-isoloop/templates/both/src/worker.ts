import { openai } from '@isoloop/core/openai';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';
import type { Access } from './access.tsx';
import { createAgent, nextStep } from './agent.ts';
import { standIn } from './stand-in.ts';

const assistant = exposeAgent(({ sessionId, memory, options }: WorkerAgentSetup<Access>) => {
  const { token, hasKey } = options;
  const model = hasKey
    ? // The endpoint replaces the token with the key of the model.
      openai({ baseURL: '/llm/v1', model: 'default', apiKey: token })
    : standIn(nextStep);
  return createAgent({ sessionId, memory, model });
});

/** Type of the agent, with the types of its tools for the page. */
export type Assistant = typeof assistant;
