import { ReActAgent } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { exposeAgent } from '@isoloop/web-worker/worker';
import { standIn } from './stand-in.ts';
import { tools } from './tools.ts';

const baseURL = import.meta.env['VITE_MODEL_URL'] ?? 'http://127.0.0.1:11434/v1';
const name = import.meta.env['VITE_MODEL'];
const model = name
  ? openai({ baseURL, model: name })
  : standIn('For a model of Ollama, put VITE_MODEL=qwen3 into the file .env.local.');

const assistant = exposeAgent(
  ({ sessionId, memory }) =>
    new ReActAgent({
      name: 'assistant',
      systemPrompt: 'You are a helpful assistant. Answer briefly.',
      sessionId,
      memory,
      model,
      tools,
    }),
);

/** Type of the agent, with the types of its tools for the page. */
export type Assistant = typeof assistant;
