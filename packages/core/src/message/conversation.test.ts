import { expect, test } from 'vitest';
import { Conversation } from './conversation.ts';

const newId = (): string => crypto.randomUUID();

test.each([undefined, '', 'taken'])('a call whose id is %j gets a short new id', (proposedId) => {
  const conversation = new Conversation();
  conversation.toolUseId('taken', newId);
  const id = conversation.toolUseId(proposedId, newId);
  // OpenAI refuses more than 40 characters: https://github.com/microsoft/autogen/issues/6377
  expect(id).toMatch(/^[\w-]{1,40}$/);
  expect(conversation.toolUseId(id, newId)).not.toBe(id);
});

test('a call keeps a free id', () => {
  expect(new Conversation().toolUseId('functions.w:0', newId)).toBe('functions.w:0');
});
