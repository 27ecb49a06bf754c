import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region second-opinion
import { ReActAgent, textOf, type Middleware } from '@isoloop/core';
import { isNewAnswer, perRun } from '@isoloop/core/agent';

/** Asks the model once whether its answer is right, and lets it answer again if not. */
export function secondOpinion(question: string): Middleware {
  const opinionOf = perRun(() => ({ isGiven: false }));
  return {
    name: 'secondOpinion',
    async wrapReply(reply, next, run) {
      const outcome = await next(reply);
      const opinion = opinionOf(run);
      if (!isNewAnswer(outcome) || reply.isFinal || opinion.isGiven) return outcome;
      opinion.isGiven = true;
      const asked = run.createMessage('user', `${question}\n\n${textOf(outcome.message)}`);
      const judged = await run.model.ask({ messages: [asked], tools: [] });
      if (judged.type === 'incomplete') return run.ending.whenStopped(outcome.message);
      const verdict = textOf(judged.message);
      if (verdict.startsWith('Yes')) return outcome;
      await run.log.edit({ append: [outcome.message, run.createMessage('user', verdict)] });
      return { to: 'model' };
    },
  };
}
// #endregion
// #region use-second-opinion
// #endregion

test('a middleware of your own asks for a second opinion before an answer', async () => {
  // #region use-second-opinion
  const model = new ScriptedModel(['In 1990.', 'No: name the day, too.', 'On 3 October 1990.']);
  const use = [secondOpinion('Is this complete? Begin with Yes or No.')];
  const agent = new ReActAgent({ name: 'guide', model, use });
  const { text, iterations } = await agent.call('When was Germany united?');
  console.assert(text === 'On 3 October 1990.' && iterations === 2);
  // #endregion

  model.assertDone();
  expect((await agent.messages()).map(textOf)).toEqual([
    'When was Germany united?',
    'In 1990.',
    'No: name the day, too.',
    'On 3 October 1990.',
  ]);
});

test('an interrupt during the second opinion ends the run with its message', async () => {
  const model = new ScriptedModel(['In 1990.', { hang: true }]);
  const use = [secondOpinion('Is this complete?')];
  const agent = new ReActAgent({ name: 'guide', model, use });
  const result = agent.call('When was Germany united?');
  await expect.poll(() => model.requests.length).toBe(2);
  agent.interrupt('Later.');
  expect(await result).toMatchObject({ reason: 'interrupted', text: 'Later.' });
});
