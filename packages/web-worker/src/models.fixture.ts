import { createOpenAI } from '@ai-sdk/openai';
import { ReActAgent } from '@isoloop/core';
import { fromAiSdk } from '@isoloop/core/ai-sdk';
import { openai } from '@isoloop/core/openai';
import { exposeAgent } from '@isoloop/web-worker/worker';

/** Agents with models over the network. */
exposeAgent<{ readonly baseURL: string; readonly apiKey: string }>({
  openai: ({ options, memory }) => new ReActAgent({ name: 'a', model: openai({ ...options, model: 'm' }), memory }),
  'ai-sdk': ({ options, memory }) => new ReActAgent({ name: 'a', model: fromAiSdk(createOpenAI(options).chat('m')), memory }),
});
