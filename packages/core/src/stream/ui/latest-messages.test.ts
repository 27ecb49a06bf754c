import { expect, test } from 'vitest';
import { latestMessages } from './latest-messages.ts';

const user = (id: string) => ({ id, role: 'user', parts: [{ type: 'text', text: id }] });
const call = (toolCallId: string, state: string) => ({
  type: 'tool-pay',
  toolCallId,
  state,
  input: { sum: 5 },
  output: 'x',
});
const answer = {
  id: 'a',
  role: 'assistant',
  metadata: { echo: 'e' },
  parts: [
    { type: 'step-start' },
    call('finished', 'output-available'),
    { type: 'step-start' },
    { type: 'text', text: 'Pay?' },
    { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' },
    call('given', 'output-available'),
    call('decided', 'approval-responded'),
    call('open', 'approval-requested'),
  ],
};
const sentAnswer = {
  ...answer,
  parts: [
    { type: 'tool-pay', toolCallId: 'given', state: 'output-available', output: 'x' },
    { type: 'tool-pay', toolCallId: 'decided', state: 'approval-responded', output: 'x' },
  ],
};

test.each([
  ['a first message', [user('1')], undefined, [user('1')]],
  ['a message after a refused one', [user('refused'), user('2')], undefined, [user('2')]],
  ['a message after an answer', [user('1'), answer, user('2')], undefined, [sentAnswer, user('2')]],
  [
    'a message after an answer and a refused message',
    [answer, user('refused'), { id: 'x', role: 'assistant', parts: [] }, user('2')],
    undefined,
    [sentAnswer, user('2')],
  ],
  ['the decisions of the last answer', [user('1'), answer], undefined, [sentAnswer]],
  ['decisions before a refused message', [answer, user('refused')], 'a', [sentAnswer]],
  ['no message', [], undefined, []],
])('of the messages that a page shows, a turn gets %s', (_name, shown, messageId, sent) => {
  expect(latestMessages(shown, messageId)).toEqual(sent);
});
