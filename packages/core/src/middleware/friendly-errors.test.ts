import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import { errorMessage } from '../error/error-message.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { friendlyErrors, type FriendlyWords } from './friendly-errors.ts';
import { jsonMode } from '../output/json-mode.ts';
import { ReActAgent } from '../agent/react-agent.ts';

const down = { error: new AgentError('MODEL_SERVER', 'secret: 500') };
const agentOf = (replies: readonly ScriptedReply[], words?: FriendlyWords) =>
  new ReActAgent({
    name: 'a',
    model: new ScriptedModel(replies),
    use: [friendlyErrors(words)],
  });

test('a failed call has words for its user, its reason and error as ever; nothing is stored', async () => {
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

test('words by the error; those that fail do not hide it', async () => {
  const locale = (error: unknown) => errorMessage(error, { locale: 'zh' });
  const called = await agentOf([down], locale).call('Hi', { throwOnError: false });
  expect(called.text).toBe(errorMessage(new AgentError('MODEL_SERVER', ''), { locale: 'zh' }));
  const broken = () => {
    throw new Error('no words');
  };
  expect(await agentOf([down], broken).call('Hi', { throwOnError: false })).toMatchObject({
    text: expect.stringMatching(/try again/),
    error: { code: 'MODEL_SERVER' },
  });
});

test('a call that throws throws, its readers have the words in run-end', async () => {
  const agent = agentOf([down]);
  const texts: string[] = [];
  const stream = agent.stream('Hi');
  const read = async (): Promise<void> => {
    for await (const event of stream) if (event.type === 'run-end') texts.push(event.result.text);
  };
  await expect(read()).rejects.toMatchObject({ code: 'MODEL_SERVER', message: 'secret: 500' });
  expect(texts).toEqual([expect.stringMatching(/try again/)]);
});

test('what the model said is left', async () => {
  const result = await agentOf(['no JSON', 'nor now']).call('Hi', {
    output: jsonMode(),
    throwOnError: false,
  });
  expect(result).toMatchObject({ reason: 'error', text: 'nor now' });
});

test('bad words', () => {
  expect(() => friendlyErrors(5 as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});
