import { SessionMemory } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { exposeAgent, type AgentSetup } from '@isoloop/web-worker/worker';
import type { Access } from './access.tsx';
import { assistant, nextStep } from './assistant.ts';
import { edgeStore } from './edge-store.ts';
import { standIn } from './stand-in.ts';

const exposed = exposeAgent(({ sessionId, options }: AgentSetup<Access>) => {
  const { token, hasKey } = options;
  const model = hasKey
    ? // The endpoint adds the key of the model.
      openai({ baseURL: '/llm/v1', model: 'default', apiKey: token })
    : standIn(nextStep);
  return assistant(model, new SessionMemory(edgeStore(token), sessionId), sessionId);
});

export type Assistant = typeof exposed;
