import { expect, test } from 'vitest';
import { AgentError, ReActAgent } from '@isoloop/core';
import { userErrorText } from '@isoloop/core/error';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { FriendlyText } from '@isoloop/core/event';
import { friendlyErrors } from './friendly-errors.ts';
import { jsonMode } from '@isoloop/core/output';

const down = { error: new AgentError('MODEL_SERVER', 'secret: 500') };
const agentOf = (replies: readonly ScriptedReply[], text?: FriendlyText) =>
  new ReActAgent({
    name: 'a',
    model: new ScriptedModel(replies),
    use: [friendlyErrors(text)],
  });

test('a failed call returns a message for the user with its reason and error, and the message is not stored', async () => {
  const agent = agentOf([down, 'Fine.'], 'Please try again.');
  const result = await agent.call('Hi', { throwOnError: false });
  expect(result).toMatchObject({
    reason: 'error',
    text: 'Please try again.',
    message: { role: 'assistant', content: [{ type: 'text', text: 'Please try again.' }] },
    error: { code: 'MODEL_SERVER' },
  });
  expect(await agent.messages()).toHaveLength(1);
  expect(await agent.call('Hi')).toMatchObject({ reason: 'stop', text: 'Fine.' });
});

test('a function can return the message, and a default message replaces it if it throws', async () => {
  const locale = (error: unknown) => userErrorText(error, { locale: 'zh' });
  const called = await agentOf([down], locale).call('Hi', { throwOnError: false });
  expect(called.text).toBe(userErrorText(new AgentError('MODEL_SERVER', ''), { locale: 'zh' }));
  const broken = () => {
    throw new Error('no words');
  };
  expect(await agentOf([down], broken).call('Hi', { throwOnError: false })).toMatchObject({
    text: expect.stringMatching(/try again/),
    error: { code: 'MODEL_SERVER' },
  });
});

test('a call that throws still throws, and its run-end event contains the message', async () => {
  const agent = agentOf([down]);
  const texts: string[] = [];
  const stream = agent.stream('Hi');
  const read = async (): Promise<void> => {
    for await (const event of stream) if (event.type === 'run-end') texts.push(event.result.text);
  };
  await expect(read()).rejects.toMatchObject({ code: 'MODEL_SERVER', message: 'secret: 500' });
  expect(texts).toEqual([expect.stringMatching(/try again/)]);
});

test('friendlyErrors() keeps text that the model has already written', async () => {
  const result = await agentOf(['no JSON', 'nor now']).call('Hi', {
    output: jsonMode(),
    throwOnError: false,
  });
  expect(result).toMatchObject({ reason: 'error', text: 'nor now' });
});

test('friendlyErrors() rejects an invalid message', () => {
  expect(() => friendlyErrors(5 as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
