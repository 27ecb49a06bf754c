import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region answer-cache
import { textOf, type Middleware } from '@isoloop/core';
import { Agent, isEnding, isNewAnswer, perRun } from '@isoloop/core/agent';

/** Answers the first question of a conversation as an earlier conversation answered it. */
export function answerCache(answers: Map<string, string> = new Map()): Middleware {
  const stateOf = perRun(() => ({ question: '' })); // one value for each run
  return {
    name: 'answerCache',
    wrapSettle: async (input, next, run) => {
      const isFirst = run.messages.length === 0;
      const first = await next(input); // stores the input
      if (!isFirst || isEnding(first)) return first;
      const question = input.messages.map(textOf).join('\n');
      stateOf(run).question = question;
      const known = answers.get(question);
      if (known === undefined) return first;
      return { kind: 'custom', reason: 'stop', message: run.createMessage('assistant', known) };
    },
    wrapReply: async (reply, next, run) => {
      const outcome = await next(reply);
      const { question } = stateOf(run);
      if (question && isNewAnswer(outcome)) answers.set(question, textOf(outcome.message));
      return outcome;
    },
  };
}
// #endregion
// #region use-answer-cache
// #endregion

test('a middleware of your own answers a repeated question without the model', async () => {
  const model = new ScriptedModel(['At nine.', 'On Sundays, too.']);

  // #region use-answer-cache
  const cache = answerCache(); // agents may share it
  const monday = new Agent({ name: 'guide', model, use: [cache] });
  await monday.call('When do you open?');

  const tuesday = new Agent({ name: 'guide', model, use: [cache] });
  const { text, iterations } = await tuesday.call('When do you open?');
  console.assert(text === 'At nine.' && iterations === 0); // without the model
  // #endregion

  expect((await tuesday.call('Also on Sundays?')).text).toBe('On Sundays, too.');
  expect((await tuesday.messages()).map(textOf)).toEqual([
    'When do you open?',
    'At nine.',
    'Also on Sundays?',
    'On Sundays, too.',
  ]);
  model.assertDone();

  const other = new Agent({ name: 'guide', model, use: [cache] });
  const told: string[] = [];
  for await (const event of other.stream('When do you open?'))
    if (event.type === 'reasoning-chunk') told.push(event.delta);
  expect(told).toEqual(['At nine.']);
});
