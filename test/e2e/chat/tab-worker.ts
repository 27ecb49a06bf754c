import { ReActAgent, tool } from '@isoloop/core';
import { exposeAgent } from '@isoloop/web-worker/worker';
import { release, ruledModel } from './ruled-model.ts';

const place = { type: 'object', properties: { place: { type: 'string' } } } as const;

/** Counts the runs of a tool in all tabs. */
const runs = new BroadcastChannel('tool-runs');

exposeAgent(({ sessionId, memory }) => {
  const named = (name: string, output: string, needsApproval: boolean) =>
    tool({
      name,
      description: name,
      input: place,
      needsApproval,
      execute: (input) => {
        runs.postMessage({ name, input });
        return output;
      },
    });
  return new ReActAgent({
    name: 'assistant',
    sessionId,
    memory,
    model: ruledModel(sessionId),
    tools: [named('weather', 'rain', false), named('remove', 'removed', true)],
  });
});

new BroadcastChannel('release').addEventListener('message', ({ data }: MessageEvent<string>) =>
  release(data),
);
