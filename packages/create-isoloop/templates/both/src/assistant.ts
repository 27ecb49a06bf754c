import { ReActAgent, tool, type ChatModel, type Memory } from '@isoloop/core';
import * as z from 'zod';

const timeIn = tool({
  name: 'time_in',
  description: 'The time in a time zone',
  input: z.object({ zone: z.enum(['Asia/Tokyo', 'Europe/Paris', 'America/New_York']) }),
  execute: ({ zone }) => ({ zone, time: new Date().toLocaleTimeString('en', { timeZone: zone }) }),
});

/** Creates the agent. It is the same in the tab and at the edge. */
export const assistant = (model: ChatModel, memory: Memory, sessionId: string) =>
  new ReActAgent({
    name: 'assistant',
    systemPrompt: 'You are a helpful assistant. Answer briefly.',
    sessionId,
    memory,
    model,
    tools: [timeIn],
  });
