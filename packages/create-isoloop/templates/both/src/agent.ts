import { ReActAgent, type ChatModel, type Memory } from '@isoloop/core';
import { tools } from './tools.ts';

interface AgentOptions {
  readonly sessionId: string;
  readonly memory: Memory;
  readonly model: ChatModel;
}

/** Creates the agent. It is the same in the tab and at the edge. */
export const createAgent = ({ sessionId, memory, model }: AgentOptions) =>
  new ReActAgent({
    name: 'assistant',
    systemPrompt: 'You are a helpful assistant. Answer briefly.',
    sessionId,
    memory,
    model,
    tools,
  });

/** Text of the stand-in that says how to get a real model. */
export const nextStep =
  'Put your key into the file .dev.vars, start `npm run dev` again, and load this page again.';
