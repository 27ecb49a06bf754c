import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region interrupt
import { ReActAgent, textOf } from '@isoloop/core';
// #endregion
// #region operator
import { operator, operatorMessage } from '@isoloop/core/several';
// #endregion

test('an agent call can be interrupted, paused and aborted, and can get further messages', async () => {
  const model = new ScriptedModel([
    [{ text: 'Once upon ' }, { hang: true }],
    [{ text: 'Once ' }, { hang: true }],
    'Once upon a time.',
    'It costs 10 dollars.',
    'It costs 9 euros.',
    'Hello.',
  ]);

  // #region interrupt
  const agent = new ReActAgent({ name: 'assistant', model, recoveryMessage: 'What now?' });

  const story = agent.stream('Tell me a story.');
  for await (const event of story) {
    if (event.type === 'reasoning-chunk' && event.delta === 'upon ') agent.interrupt(); // or interrupt('Stopped by the user.')
  }
  const { reason, text } = await story.result; // 'interrupted', 'What now?'
  // #endregion

  expect([reason, text]).toEqual(['interrupted', 'What now?']);
  expect(
    (await agent.messages()).map((message) => [textOf(message), message.metadata?.['partial']]),
  ).toEqual([
    ['Tell me a story.', undefined],
    ['Once upon ', 'interrupted'],
    ['What now?', undefined],
  ]);

  const log = vi.spyOn(console, 'log').mockReturnValue();
  // #region pause
  for await (const event of agent.stream('Another one.')) {
    if (event.type === 'reasoning-chunk') agent.interrupt({ mode: 'pause' });
    if (event.type === 'run-end') console.log(event.result.reason); // 'suspended'
  }
  const resumed = await agent.call(); // continues: the model writes the reply again
  // #endregion

  expect(log.mock.calls).toEqual([['suspended']]);
  expect(resumed.text).toBe('Once upon a time.');

  // #region inject
  const price = agent.stream('What does it cost?');
  for await (const event of price) {
    // The current reply ends first. Then the loop continues with this message.
    if (event.type === 'reasoning-chunk' && event.delta === '10 ')
      agent.interrupt({ mode: 'inject', messages: 'In euros, please.' });
  }
  // #endregion

  expect((await price.result).text).toBe('It costs 9 euros.');
  expect((await agent.messages()).slice(-4).map(textOf)).toEqual([
    'What does it cost?',
    'It costs 10 dollars.',
    'In euros, please.',
    'It costs 9 euros.',
  ]);

  // #region abort
  const controller = new AbortController();
  const aborted = agent.call('Tell me another.', { signal: controller.signal });
  controller.abort(); // stops the model, tools and waits at once
  console.assert((await aborted).reason === 'aborted');

  await agent.call('Hello'); // works, because every tool call in the history has a result
  // #endregion

  expect((await aborted).reason).toBe('aborted');
  expect(agent.interrupt()).toBe(false);
});

test('a person answers in the assistant’s place', async () => {
  const model = new ScriptedModel(['You are welcome.']);

  // #region operator
  const agent = new ReActAgent({ name: 'assistant', model, use: [operator()] });

  await agent.call(operatorMessage('I am Ann.', { name: 'Ann', action: 'join' }));
  await agent.call('Where is my parcel?'); // stored; the model is not asked
  await agent.call(operatorMessage('It comes today.', { name: 'Ann' }));
  await agent.call(operatorMessage('Bye.', { name: 'Ann', action: 'leave' }));
  const { text } = await agent.call('Thanks.'); // the agent answers again
  // #endregion

  expect(text).toBe('You are welcome.');
  model.assertDone();
});
