import { expect, test } from 'vitest';
import { Conversation, KeptConversation } from './conversation.ts';
import { userMessage } from '../msg.ts';

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

test('a kept conversation continues with the new messages, and only one run has it', () => {
  const [first, second] = [userMessage('One'), userMessage('Two')];
  const kept = new KeptConversation();
  const conversation = kept.take([first]);
  // A run that was refused has read nothing.
  kept.keep(new Conversation());
  kept.keep(conversation);
  expect(kept.take([first, second])).toBe(conversation);
  expect(conversation.messages).toEqual([first, second]);
  expect(kept.take([first])).not.toBe(conversation);
});

test('a kept conversation drops messages that the memory no longer has', () => {
  const kept = new KeptConversation();
  kept.keep(kept.take([userMessage('One')]));
  const other = userMessage('Two');
  expect(kept.take([other]).messages).toEqual([other]);
});
