import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region structured
import { AgentError, ReActAgent, textOf } from '@isoloop/core';
import { structured, type OutputMode } from '@isoloop/core/output';
import * as z from 'zod';
// #endregion
// #region own-output-mode
import { isNewAnswer } from '@isoloop/core/agent';
// #endregion

test('structured() returns a validated value, or fails with OUTPUT_INVALID', async () => {
  const value = (input: object) => ({
    toolCalls: [{ name: 'generate_response', input: input as {} }],
  });
  const wrong = value({ city: 'Rome', days: 0 });
  const model = new ScriptedModel([
    'Rome is nice.',
    value({ city: 'Rome', days: 3 }),
    '["food","art"]',
    wrong,
    wrong,
    wrong,
    wrong,
    wrong,
    wrong,
  ]);

  // #region structured
  const Trip = z.object({ city: z.string(), days: z.number().int().positive() });

  const agent = new ReActAgent({ name: 'planner', model });
  const trip = await agent.call('Plan a short trip to Rome.', { output: structured(Trip) });
  const days: number | undefined = trip.output?.days; // validated; undefined if the call ended without a value
  console.assert(trip.text === '{"city":"Rome","days":3}');
  // #endregion

  expect(days).toBe(3);
  expect(trip.text).toBe('{"city":"Rome","days":3}');
  expect((await agent.messages()).map(textOf)).toEqual([
    'Plan a short trip to Rome.',
    '{"city":"Rome","days":3}',
  ]);
  expect(model.requests[1]?.toolChoice).toEqual({ name: 'generate_response' });

  // #region structured-prompt
  const tags = await agent.call('Name two tags for it.', {
    output: structured(z.array(z.string()), { mode: 'prompt', attempts: 2 }), // for models without tools
  });
  // #endregion

  expect(tags.output).toEqual(['food', 'art']);

  const log = vi.spyOn(console, 'log').mockReturnValue();
  // #region structured-error
  try {
    await agent.call('Plan no trip.', { output: structured(Trip) });
  } catch (error) {
    if (!AgentError.is(error) || error.code !== 'OUTPUT_INVALID') throw error;
    console.log(error.details); // { issues: ['days: …'], text: '{"city":"Rome","days":0}' }
  }
  const kept = await agent.call('Plan no trip.', { output: structured(Trip), throwOnError: false });
  console.assert(kept.reason === 'error' && kept.text === '{"city":"Rome","days":0}');
  // #endregion

  expect(log.mock.calls).toEqual([
    [{ issues: [expect.stringMatching(/^days: /)], text: '{"city":"Rome","days":0}' }],
  ]);
  expect([kept.reason, kept.text, kept.error?.code]).toEqual([
    'error',
    '{"city":"Rome","days":0}',
    'OUTPUT_INVALID',
  ]);
  model.assertDone();
});

test('an output mode of your own judges the answer', async () => {
  const model = new ScriptedModel(['Three days.', '3']);
  const agent = new ReActAgent({ name: 'planner', model });

  // #region own-output-mode
  const number: OutputMode<number> = [
    {
      name: 'output',
      wrapReply: async (reply, next, run) => {
        const outcome = await next(reply);
        if (!isNewAnswer(outcome)) return outcome;
        const output = Number(textOf(outcome.message));
        if (!Number.isNaN(output)) return { ...outcome, output };
        const asked = run.createMessage('user', 'Answer with a number alone.');
        await run.log.edit({ append: [outcome.message, asked] });
        return { to: 'model' };
      },
    },
  ];
  const { output } = await agent.call('How many days?', { output: number });
  console.assert(output === 3);
  // #endregion

  const days: number | undefined = output;
  expect(days).toBe(3);
  model.assertDone();
});
