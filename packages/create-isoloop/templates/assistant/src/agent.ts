import { ReActAgent, tool } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { exposeAgent } from '@isoloop/web-worker/worker';
import * as z from 'zod';

const model = openai({
  baseURL: import.meta.env['VITE_MODEL_URL'] ?? 'http://127.0.0.1:11434/v1',
  model: import.meta.env['VITE_MODEL'] ?? 'qwen3',
});

const timeIn = tool({
  name: 'time_in',
  description: 'The time in a time zone',
  input: z.object({ zone: z.enum(['Asia/Tokyo', 'Europe/Paris', 'America/New_York']) }),
  execute: ({ zone }) => ({ zone, time: new Date().toLocaleTimeString('en', { timeZone: zone }) }),
});

const assistant = exposeAgent(
  ({ sessionId, memory }) =>
    new ReActAgent({
      name: 'assistant',
      systemPrompt: 'You are a helpful assistant. Answer briefly.',
      sessionId,
      memory,
      model,
      tools: [timeIn],
    }),
);

/** The page gets the types of the tools from it. */
export type Assistant = typeof assistant;
