import { expect, test } from 'vitest';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import type { Middleware } from './middleware.ts';
import { perRun } from './per-run.ts';

test('a run has one value from its first event to its last one, and no other run has it', async () => {
  let begun = 0;
  const seenIn = perRun(({ runId }) => {
    begun += 1;
    return { runId, events: new Set<string>() };
  });
  const seen: string[] = [];
  const part: Middleware = {
    onEvent: ({ type }, _control, context) => void seenIn(context).events.add(type),
    on: {
      'run-end': ({ runId }, _control, context) => {
        const value = seenIn(context);
        seen.push(`${value.runId === runId} ${[...value.events].join(' ')}`);
      },
    },
  };
  const agents = ['one', 'two'].map(
    (reply) => new Agent({ name: reply, model: new ScriptedModel([reply]), use: [part] }),
  );
  await Promise.all(agents.map((agent) => agent.call('go')));
  const events = 'run-start pre-call pre-reasoning reasoning-chunk post-reasoning post-call';
  expect(seen).toEqual([`true ${events}`, `true ${events}`]);
  expect(begun).toBe(2);
});
