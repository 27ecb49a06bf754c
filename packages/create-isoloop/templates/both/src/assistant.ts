import { ReActAgent, type ChatModel, type Memory } from '@isoloop/core';
import { tools } from './tools.ts';

/** Creates the agent. It is the same in the tab and at the edge. */
export const assistant = (model: ChatModel, memory: Memory, sessionId: string) =>
  new ReActAgent({
    name: 'assistant',
    systemPrompt: 'You are a helpful assistant. Answer briefly.',
    sessionId,
    memory,
    model,
    tools,
  });

/** Says how the stand-in becomes a model. */
export const nextStep =
  'Put your key into the file .dev.vars, start `npm run dev` again, and load this page again.';
