import { AgentError, ReActAgent, type EventBatch } from '@isoloop/core';
import { summaryFallback } from '@isoloop/core/answer';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { toPublicEvents } from './public-events.ts';

test('run-end has the code of a failed summary at a limit, and no event has its message', async () => {
  const error = new AgentError('MODEL_SERVER', 'the upstream text');
  const agent = new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ error }]),
    limits: { iterations: 0 },
    use: [summaryFallback({ text: 'Sorry.' })],
  });
  const batches: EventBatch[] = [];
  for await (const batch of agent.stream('go').batches()) batches.push(batch);
  const events = toPublicEvents(batches.flat());
  const inspected = toPublicEvents(batches.flat(), undefined, true);
  expect(events.at(-1)).toMatchObject({
    type: 'run-end',
    reason: 'max-iterations',
    text: 'Sorry.',
    code: 'MODEL_SERVER',
  });
  expect(JSON.stringify([events, inspected])).not.toContain('the upstream text');
});
