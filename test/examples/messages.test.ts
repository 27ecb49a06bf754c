import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region messages
import {
  AgentError,
  assistantMessage,
  InMemoryMemory,
  ReActAgent,
  systemMessage,
  toolMessage,
  userMessage,
} from '@isoloop/core';
import { parseHistory, parseMessages } from '@isoloop/core/message';
// #endregion

test('messages can contain images and files, and parseMessages() validates stored messages', async () => {
  const model = new ScriptedModel(['A cat.', 'Still a cat.']);
  const data = 'iVBORw0KGgo=';

  // #region messages
  const agent = new ReActAgent({ name: 'assistant', model });
  await agent.call(
    userMessage(
      [
        { type: 'text', text: 'What is this?' },
        { type: 'image', source: { type: 'base64', mediaType: 'image/png', data } },
        {
          type: 'file',
          source: { type: 'url', url: 'https://example.com/report.pdf' },
          name: 'report.pdf',
        },
      ],
      { name: 'Ann', metadata: { locale: 'en' } },
    ),
  );
  // #endregion

  expect(model.requests[0]?.messages.at(-1)).toMatchObject({
    role: 'user',
    name: 'Ann',
    content: [{}, { type: 'image' }, { type: 'file' }],
  });

  const body = JSON.stringify([
    userMessage('Hi', { id: 'm1' }),
    { ...assistantMessage('Hello', { id: 'm2' }), content: [{ type: 'text' }] },
  ]);
  const stored = JSON.stringify([userMessage('What is it?'), assistantMessage('A cat.')]);
  const log = vi.spyOn(console, 'log').mockReturnValue();
  // #region parse-messages
  try {
    parseMessages(JSON.parse(body)); // returns readonly Msg[]
  } catch (error) {
    if (!AgentError.is(error)) throw error;
    console.assert(error.code === 'INVALID_MESSAGE');
    console.assert(error.message === 'Message 1 (id "m2"): content[0].text must be a string');
    console.log(error.details); // { index: 1, id: 'm2', field: 'content[0].text' }
  }

  const history = parseHistory(JSON.parse(stored)); // a whole conversation; also rejects repeated ids
  const again = new ReActAgent({ name: 'assistant', model, memory: new InMemoryMemory(history) });
  // #endregion

  expect(log.mock.calls).toEqual([[{ index: 1, id: 'm2', field: 'content[0].text' }]]);
  expect(() => parseMessages(JSON.parse(body))).toThrow(
    'Message 1 (id "m2"): content[0].text must be a string',
  );
  await again.call('Sure?');
  expect(model.requests[1]?.messages).toHaveLength(3);
  const twice = userMessage('Hi', { id: 'same' });
  expect(parseMessages([twice, twice])).toHaveLength(2);
  expect(() => parseHistory([twice, twice])).toThrow(
    'Message 1 (id "same"): id must be different from the id of message 0',
  );
});

test('systemMessage() and toolMessage() create messages', () => {
  expect(systemMessage('Be brief.').role).toBe('system');
  expect(
    toolMessage({ type: 'tool_result', toolUseId: 'c', name: 't', output: 'ok', state: 'success' })
      .role,
  ).toBe('tool');
});
