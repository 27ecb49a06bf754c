import { ReActAgent, tool } from '@isoloop/core';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';
import * as z from 'zod';

/** Options that tests pass to this worker when they connect. */
export interface ChatWorkerOptions {
  readonly replies: readonly (string | ScriptedStep)[];
}

const weather = tool({
  name: 'get_weather',
  description: 'Current weather of a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
});

const now = tool({
  name: 'now',
  description: 'The time now',
  input: z.object({}),
  execute: () => 'noon',
});

/** An agent with the memory that a worker gives by default. */
const agents = exposeAgent({
  assistant: ({ sessionId, memory, options }: WorkerAgentSetup<ChatWorkerOptions>) =>
    new ReActAgent({
      name: 'assistant',
      sessionId,
      memory,
      model: new ScriptedModel(options.replies),
      tools: [weather, now],
    }),
});

export type ChatAgents = typeof agents;
