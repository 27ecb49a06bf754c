import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region long-tool
import { ReActAgent, tool } from '@isoloop/core';
import * as z from 'zod';
// #endregion

test('a tool starts a job once, and another tool asks for its state', async () => {
  const states = new Map<string, string>();
  const jobs = {
    start: async (id: string, video: string) => states.set(id, `${video}: 40 %`),
    state: async (id: string) => states.get(id) ?? 'unknown',
  };
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'render', input: { video: 'a.mp4' } }] },
    'It started.',
    ({ messages }) => {
      const job = /Job (\S+) has started/.exec(JSON.stringify(messages))?.[1] ?? '';
      return { toolCalls: [{ name: 'render_state', input: { job } }] };
    },
    'At 40 %.',
  ]);

  // #region long-tool
  const render = tool({
    name: 'render',
    description:
      'Starts to render a video, which takes ten minutes. Returns the number of the job.',
    input: z.object({ video: z.string() }),
    replay: 'safe', // a second start with the same key starts nothing
    async execute({ video }, { idempotencyKey }) {
      await jobs.start(idempotencyKey, video);
      return `Job ${idempotencyKey} has started.`;
    },
  });
  const renderState = tool({
    name: 'render_state',
    description: 'Says how far a job is',
    input: z.object({ job: z.string() }),
    execute: ({ job }) => jobs.state(job),
  });
  const agent = new ReActAgent({ name: 'assistant', model, tools: [render, renderState] });
  // #endregion

  await agent.call('Render a.mp4.');
  await agent.call('How far is it?');
  expect(states.size).toBe(1);
  expect(JSON.stringify(model.requests.at(-1)!.messages)).toContain('a.mp4: 40 %');
  model.assertDone();
});
