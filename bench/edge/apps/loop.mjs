// Runs the agent without the endpoint.
import { ReActAgent, tool } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';

export const app = {
  async fetch(request, env) {
    if (request.method !== 'POST') return new Response('ready');
    const lookup = tool({
      name: 'lookup',
      input: { type: 'object', properties: {} },
      execute: () => 'found',
    });
    const agent = new ReActAgent({
      name: 'assistant',
      model: openai({ model: 'mock-model', baseURL: env.WORLD, apiKey: 'x' }),
      tools: [lookup],
    });
    return new Response((await agent.call(await request.text())).text);
  },
};
