import { expect, test } from 'vitest';
import { openai } from '../openai/openai.ts';
import {
  assistantMessage,
  systemMessage,
  toolMessage,
  userMessage,
  type Msg,
} from '../../message/msg.ts';
import { answeringFetch } from '../../testing/answering-fetch.ts';

/** Returns the messages that `openai()` sends to a model. */
async function sentTo(model: string, messages: readonly Msg[]): Promise<readonly unknown[]> {
  const { fetch, bodies } = answeringFetch(['{}'], { init: { status: 400 } });
  const context = { signal: new AbortController().signal };
  const reply = openai({ model, fetch }).stream({ messages, tools: [] }, context);
  await expect(reply[Symbol.asyncIterator]().next()).rejects.toThrow();
  return (JSON.parse(bodies[0]!) as { readonly messages: readonly unknown[] }).messages;
}

const call = { type: 'tool_use', id: 'a1B2c3D4e', name: 'w', input: {} } as const;
const result = {
  type: 'tool_result',
  toolUseId: call.id,
  name: 'w',
  output: 'sun',
  state: 'success',
} as const;
const interrupted: readonly Msg[] = [
  userMessage('Hi'),
  // The user stopped the model while it thought.
  assistantMessage([{ type: 'thinking', thinking: 'Hm.' }]),
  userMessage('Is it warm?'),
  assistantMessage([call]),
  toolMessage(result),
  userMessage('Be quick'),
  userMessage(''),
  assistantMessage('It is'),
  assistantMessage('warm.'),
  userMessage('Thanks'),
];

test.each(['gemma-3-12b-it', 'mistralai/Devstral-2', 'ministral-8b', 'sonar-pro'])(
  '%s gets no two messages of the user or the assistant in a row',
  async (model) => {
    expect(await sentTo(model, interrupted)).toMatchObject([
      { role: 'user', content: 'Hi\nIs it warm?' },
      { role: 'assistant', content: null, tool_calls: [{ id: call.id }] },
      { role: 'tool', content: 'sun' },
      { role: 'assistant', content: 'I have the results.' },
      { role: 'user', content: 'Be quick\n(empty message)' },
      { role: 'assistant', content: 'It is\nwarm.' },
      { role: 'user', content: 'Thanks' },
    ]);
  },
);

test('another model gets each message', async () => {
  expect((await sentTo('gpt-5-mini', interrupted)).length).toBe(9);
});

const withLateSystem: readonly Msg[] = [
  systemMessage('You help.'),
  systemMessage('Be kind.'),
  userMessage('Hi'),
  assistantMessage('Hello'),
  systemMessage('The user is in Rome.'),
  assistantMessage('Shall I go on?'),
];

const goOn = { role: 'user', content: 'Continue.' };

test.each([
  ['qwen3.6-27b', [goOn]],
  ['Qwen/Qwen3.8-27B', [goOn]],
  ['devstral-small', []],
])(
  '%s gets one system message, which is the first message, and after a reply at the end %j',
  async (model, end) => {
    expect(await sentTo(model, withLateSystem)).toEqual([
      { role: 'system', content: 'You help.\nBe kind.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'The user is in Rome.' },
      { role: 'assistant', content: 'Shall I go on?' },
      ...end,
    ]);
    const late = [userMessage('Hi'), systemMessage('Be kind.')];
    const roles = (await sentTo(model, late)).map((message) => Object(message).role);
    expect(new Set(roles)).toEqual(new Set(['user']));
    const alone = [systemMessage('A'), systemMessage('B')];
    expect(await sentTo(model, alone)).toEqual([{ role: 'system', content: 'A\nB' }]);
  },
);

test('another model gets system messages where they are', async () => {
  expect(await sentTo('gpt-5-mini', withLateSystem)).toHaveLength(6);
});
