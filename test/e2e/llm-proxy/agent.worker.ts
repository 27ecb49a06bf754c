import { ReActAgent, tool } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';

export interface ProxyOptions {
  readonly baseURL: string;
  /** The user's token for the edge. */
  readonly token: string;
  readonly model: string;
}

const add = tool({
  name: 'add',
  description: 'Adds',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  execute: (input) => {
    const { a, b } = input as { readonly a: number; readonly b: number };
    return `sum ${a + b}`;
  },
});

const agent = exposeAgent(
  ({ options: { baseURL, token, model } }: WorkerAgentSetup<ProxyOptions>) =>
    new ReActAgent({ name: 'a', model: openai({ baseURL, apiKey: token, model }), tools: [add] }),
);

export type ProxyAgent = typeof agent;
