import { expect, test } from 'vitest';
import { systemMessage, textOf, userMessage } from '../../message/msg.ts';
import { liveRun, openWith } from '@test/support/live-run.ts';

test('the text is the base and the added texts, with a blank line between those that are not blank', () => {
  const { prompt } = liveRun({ systemPrompt: 'Be kind.' }).live;
  prompt.added.push('Be short.', ' ', 'Be right.');
  expect(prompt.text).toBe('Be kind.\n\nBe short.\n\nBe right.');
  prompt.base = '';
  expect(prompt.text).toBe('Be short.\n\nBe right.');
});

test('the messages are the system prompt, the added messages, and the conversation', async () => {
  const { live } = liveRun({ systemPrompt: 'Be kind.' });
  await openWith(live, userMessage('Why?'));
  live.prompt.prepended.push(systemMessage('Facts.'));
  expect(live.prompt.messages.map((message) => textOf(message))).toEqual([
    'Be kind.',
    'Facts.',
    'Why?',
  ]);
  // Token counts are cached per message object.
  expect(live.prompt.messages[0]).toBe(live.prompt.messages[0]);
});

test('a blank prompt is no message', () => {
  expect(liveRun({ systemPrompt: ' ' }).live.prompt.messages).toEqual([]);
});
