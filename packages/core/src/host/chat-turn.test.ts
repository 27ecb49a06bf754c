import { expect, test } from 'vitest';
import { readChatTurn, type PostedChat } from './chat-turn.ts';

const limits = { messages: 3, toolResultChars: 10 };
const question = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const called = { type: 'dynamic-tool', toolName: 'color', toolCallId: 'c1', input: {} };
const answer = (fields: object) => ({
  id: 'a',
  role: 'assistant',
  parts: [{ ...called, ...fields }],
});
const result = answer({ state: 'output-available', output: 'blue' });
const decision = { toolUseId: 'c1', name: 'color', type: 'result', output: 'blue' };

test.each<[what: string, posted: PostedChat, request: object]>([
  ['a message', { messages: [question] }, { kind: 'message', message: { id: 'q' } }],
  [
    'a message after decisions that may not have been sent',
    { messages: [result, question] },
    { kind: 'message', message: { id: 'q' }, decisions: [decision] },
  ],
  [
    'decisions in the last message',
    { messages: [question, result] },
    { kind: 'decisions', decisions: [decision], messageId: 'a' },
  ],
  [
    'decisions before a message that was refused',
    { messages: [result, question], messageId: 'a' },
    { kind: 'decisions', decisions: [decision], messageId: 'a' },
  ],
  [
    'a new answer to the last message of the user',
    { trigger: 'regenerate-message', messages: [question, result] },
    { kind: 'regenerate', message: { id: 'q' } },
  ],
  [
    'a new answer before a message',
    { trigger: 'regenerate-message', messageId: 'a', messages: [] },
    { kind: 'regenerate', messageId: 'a' },
  ],
])('readChatTurn() reads %s', (_what, posted, request) => {
  expect(readChatTurn(posted, limits)).toMatchObject(request);
});

test('readChatTurn() leaves out results of earlier steps that are longer than the limit', () => {
  const long = answer({ state: 'output-available', output: 'x'.repeat(11) });
  const request = readChatTurn({ messages: [long, question] }, limits);
  expect(request).not.toHaveProperty('decisions');
});

test.each<[what: string, posted: PostedChat, code: string, message: string]>([
  ['no list', { messages: undefined }, 'INVALID_INPUT', '`messages` must be a list'],
  ['an unknown trigger', { trigger: 'x', messages: [] }, 'INVALID_INPUT', '`trigger` must be'],
  [
    'too many messages',
    { messages: [question, question, question, question] },
    'PAYLOAD_TOO_LARGE',
    'more than 3 messages',
  ],
  [
    'a decision that is too long',
    { messages: [answer({ state: 'output-available', output: 'x'.repeat(11) })] },
    'PAYLOAD_TOO_LARGE',
    'longer than 10 characters',
  ],
  [
    'an id with a space',
    { messages: [{ ...question, id: 'q 1' }] },
    'INVALID_MESSAGE',
    '1 to 128 visible characters',
  ],
])('readChatTurn() refuses %s', (_what, posted, code, message) => {
  expect(() => readChatTurn(posted, limits)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(message) }),
  );
});
