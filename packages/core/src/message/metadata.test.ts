import { createOpenAI } from '@ai-sdk/openai';
import { expect, test } from 'vitest';
import { fromAiSdk } from '../model/ai-sdk/ai-sdk-model.ts';
import { dashscope } from '../model/dashscope/dashscope.ts';
import type { JsonObject } from './json.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { openai } from '../model/openai/openai.ts';
import { openaiResponses } from '../model/responses/openai-responses.ts';
import { assistantMessage, toolMessage, userMessage } from './msg.ts';
import { withEditedCall } from './metadata.ts';
import { withOrigin } from './provider-metadata.ts';

const reply = {
  ...assistantMessage([
    {
      type: 'thinking',
      thinking: 'Hm.',
      providerMetadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: null } },
    },
    {
      type: 'tool_use',
      id: 'c1',
      name: 'pay',
      input: { n: 111 },
      raw: '{"n": 111}',
      providerMetadata: {
        openai: { itemId: 'fc_1' },
        ...withOrigin('models.test', {
          extra_content: { google: { thought_signature: 'thought' } },
        }),
      },
    },
  ]),
  metadata: { id: 'resp_1', model: 'm', responses: { input: 0, reply: 0 } },
};

/** Returns the body of the HTTP request for a conversation with the edited reply. */
async function bodyOf(
  modelWith: (fetch: typeof globalThis.fetch) => ChatModel,
  providerOptions: JsonObject = {},
): Promise<string> {
  let body = '';
  const model = modelWith(async (_url, init) => {
    body = String(init?.body);
    return new Response('{}', { status: 400 });
  });
  const messages = [
    userMessage('Pay.'),
    withEditedCall(reply, 'c1', { n: 222 }),
    toolMessage({
      type: 'tool_result',
      toolUseId: 'c1',
      name: 'pay',
      output: 'ok',
      state: 'success',
    }),
  ];
  const { signal } = new AbortController();
  const asking = async (): Promise<void> => {
    for await (const _batch of model.stream({ messages, tools: [], providerOptions }, { signal }));
  };
  await expect(asking()).rejects.toMatchObject({ code: expect.any(String) as string });
  return body;
}

const key = { apiKey: 'k', baseURL: 'https://models.test/v1' };

test('every provider gets only the new arguments of an edited tool call', async () => {
  const bodies = [
    await bodyOf((fetch) => openai({ ...key, model: 'm', fetch })),
    await bodyOf((fetch) => dashscope({ apiKey: 'k', model: 'qwen-plus', fetch })),
    await bodyOf(
      (fetch) => openaiResponses({ ...key, model: 'm', previousResponse: true, fetch }),
      { previous_response_id: 'resp_1' },
    ),
    await bodyOf((fetch) => fromAiSdk(createOpenAI({ ...key, fetch }).responses('gpt-5')), {
      openai: { previousResponseId: 'resp_1' },
    }),
    await bodyOf((fetch) => fromAiSdk(createOpenAI({ ...key, fetch }).chat('gpt-5'))),
  ];
  for (const body of bodies) {
    expect(body).toContain('222');
    expect(body).not.toMatch(/111|fc_1|resp_1/);
  }
  expect(bodies[0]).toContain('thought_signature');
  for (const body of bodies.slice(1)) expect(body).not.toContain('thought_signature');
});

test('withEditedCall() keeps the original arguments once and does not change other tool calls', () => {
  const once = withEditedCall(reply, 'c1', { n: 2 });
  const twice = withEditedCall(once, 'c1', { n: 3 });
  expect(twice.metadata).toEqual({
    ...reply.metadata,
    edited: [reply.content[1]],
  });
  expect(twice.content[0]).toBe(reply.content[0]);
  expect(withEditedCall(reply, 'c1', { n: 111 })).toBe(reply);
  expect(withEditedCall(reply, 'other', { n: 1 })).toBe(reply);
});
