import { expect, test } from 'vitest';
import { ReActAgent } from '../react-agent/react-agent.ts';
import {
  userMessage,
  toolResultsOf,
  type ContentBlock,
  type MediaBlock,
  type Msg,
} from '../message/msg.ts';
import type { ModelFeatures } from './chat-model.ts';
import { requestFaults } from '@test/support/history-faults.ts';
import { ScriptedModel, type ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { toWireMessages } from './openai/openai-formatter.ts';
import { showToolMedia } from './show-tool-media.ts';

const text = (value: string): ContentBlock => ({ type: 'text', text: value });
const medium = (type: MediaBlock['type'], name: string): MediaBlock => ({
  type,
  name,
  source: { type: 'base64', mediaType: `${type}/x`, data: 'QUJD' },
});
const image = medium('image', 'a.png');
const sound = medium('audio', 'a.wav');
const input = { type: 'object' } as const;
const snap = tool({
  name: 'snap',
  description: '',
  input,
  execute: () => ({ content: [text('a photo'), image, sound] }),
});
const say = tool({ name: 'say', description: '', input, execute: () => 'said' });

function setUp(replies: readonly ScriptedReply[], media: ModelFeatures['media'] = ['image']) {
  const model = new ScriptedModel(replies, { features: { media } });
  return {
    model,
    agent: new ReActAgent({ name: 'a', model, tools: [snap, say], use: [showToolMedia()] }),
  };
}

const wired = (messages: readonly Msg[], media: ModelFeatures['media']): readonly unknown[] =>
  messages.flatMap((message) =>
    toWireMessages(message, { features: { tools: true, media }, sendThinking: false }),
  );

const round: ScriptedReply = { toolCalls: [{ name: 'say' }, { name: 'snap' }, { name: 'snap' }] };

test('showToolMedia() adds a message after all tool results of a reply, with the media that the model supports', async () => {
  const { agent, model } = setUp([round, 'Nice.']);
  await agent.call(userMessage([text('Look'), image, sound]));
  const { messages } = model.requests[1]!;
  expect(requestFaults(messages)).toEqual([]);
  const url = { type: 'image_url', image_url: { url: 'data:image/x;base64,QUJD' } };
  const result = 'a photo\n[image: a.png]\n[audio: a.wav]';
  expect(wired(messages, ['image']).filter((_, index) => index !== 1)).toEqual([
    { role: 'user', content: [text('Look'), url, text('[audio: a.wav]')] },
    { role: 'tool', tool_call_id: 'call_1', content: 'said' },
    { role: 'tool', tool_call_id: 'call_2', content: result },
    { role: 'tool', tool_call_id: 'call_3', content: result },
    {
      role: 'user',
      content: [
        text('From the result of snap (call call_2):'),
        url,
        text('From the result of snap (call call_3):'),
        url,
      ],
    },
  ]);
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    'said',
    [text('a photo'), image, sound],
    [text('a photo'), image, sound],
  ]);
});

test('a model without media support gets placeholders, and no message with media is added', async () => {
  const { agent, model } = setUp([round, 'Nice.'], []);
  await agent.call(userMessage([text('Look'), image]));
  const { messages } = model.requests[1]!;
  expect(messages).toHaveLength(5);
  expect(wired(messages, []).at(0)).toEqual({ role: 'user', content: 'Look\n[image: a.png]' });
  expect(wired(messages, []).at(-1)).toMatchObject({
    role: 'tool',
    content: 'a photo\n[image: a.png]\n[audio: a.wav]',
  });
});

test('later requests contain the same message objects, and each reply’s media stay separate', async () => {
  const { agent, model } = setUp([round, round, 'Nice.', 'Yes.']);
  await agent.call('Look');
  await agent.call('Sure?');
  const [, second, third, fourth] = model.requests.map(({ messages }) => messages);
  second!.forEach((message, index) => expect(third![index]).toBe(message));
  third!.forEach((message, index) => expect(fourth![index]).toBe(message));
  expect(third!.map(({ role }) => role).join()).toBe(
    'user,assistant,tool,tool,tool,user,assistant,tool,tool,tool,user',
  );
});

test('if a user message contains both tool results and text, both are kept', async () => {
  const { agent, model } = setUp(['Nice.']);
  const result: ContentBlock = {
    type: 'tool_result',
    toolUseId: '1',
    name: 'snap',
    output: [image],
    state: 'success',
  };
  await agent.observe([
    userMessage('Look'),
    { ...userMessage([{ type: 'tool_use', id: '1', name: 'snap', input: {} }]), role: 'assistant' },
    userMessage([result, text('There.')]),
  ]);
  await agent.call('So?');
  const last = wired(model.requests[0]!.messages, ['image']).slice(2);
  expect(last).toMatchObject([
    { role: 'tool', content: '[image: a.png]' },
    { role: 'user', content: 'There.' },
    { role: 'user', content: [{ type: 'text' }, { type: 'image_url' }] },
    { role: 'user', content: 'So?' },
  ]);
});
