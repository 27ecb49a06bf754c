import { createOpenAI } from '@ai-sdk/openai';
import { ReActAgent } from '@isoloop/core';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { openai } from '@isoloop/core/openai';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';

export interface ModelOptions {
  readonly baseURL: string;
  /** Default: a key that only this worker knows. */
  readonly apiKey?: string;
}

type Setup = WorkerAgentSetup<ModelOptions>;

const own = { apiKey: 'sk-of-the-worker-alone' };

/** Exposes agents whose models are on the network. */
const agents = exposeAgent({
  openai: ({ options, memory }: Setup) =>
    new ReActAgent({ name: 'a', model: openai({ ...own, ...options, model: 'm' }), memory }),
  'ai-sdk': ({ options, memory }: Setup) =>
    new ReActAgent({
      name: 'a',
      model: fromAiSdk(createOpenAI({ ...own, ...options }).chat('m')),
      memory,
    }),
  'no-memory': ({ options }: Setup) =>
    new ReActAgent({ name: 'a', model: openai({ ...own, ...options, model: 'm' }) }),
  'ai-sdk-no-memory': ({ options }: Setup) =>
    new ReActAgent({ name: 'a', model: fromAiSdk(createOpenAI({ ...own, ...options }).chat('m')) }),
});

export type ModelAgents = typeof agents;
