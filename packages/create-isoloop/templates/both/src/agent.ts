import { SessionMemory } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { exposeAgent, type AgentSetup } from '@isoloop/web-worker/worker';
import { assistant } from './assistant.ts';
import { remoteStore } from './remote-store.ts';

const exposed = exposeAgent(({ sessionId, options }: AgentSetup<{ readonly token: string }>) => {
  const { token } = options;
  const store = remoteStore(async (method, args) => {
    const response = await fetch(`/store/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(args),
    });
    if (!response.ok) throw new Error(`The store answered with ${response.status}.`);
    return response.json();
  });
  // The endpoint adds the key of the model.
  const model = openai({ baseURL: '/llm/v1', model: 'default', apiKey: token });
  return assistant(model, new SessionMemory(store, sessionId), sessionId);
});

export type Assistant = typeof exposed;
