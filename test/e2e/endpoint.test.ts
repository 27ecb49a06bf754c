/// <reference path="../provided-context.d.ts" />
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import OpenAI from 'openai';
import { expect, inject, test } from 'vitest';

const client = () => new OpenAI({ baseURL: `${inject('demoUrl')}/v1`, apiKey: 'unused' });
const question = [
  { role: 'user' as const, content: 'What is 17 * 23, and what time is it in 서울?' },
];

test('OpenAI’s client gets a whole answer from the demo’s endpoint', async () => {
  const completion = await client().chat.completions.create({
    model: 'offline',
    messages: question,
  });
  expect(completion.choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { role: 'assistant', content: expect.stringContaining('391') },
  });
  expect(completion.usage!.total_tokens).toBeGreaterThan(0);
});

test('OpenAI’s client streams an answer of the demo’s endpoint, with usage', async () => {
  const stream = await client().chat.completions.create({
    model: 'offline',
    messages: question,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let pieces = 0;
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    const delta = chunk.choices[0]?.delta.content;
    if (delta) pieces += 1;
    text += delta ?? '';
    usage = chunk.usage ?? usage;
  }
  expect(text).toContain('391');
  expect(pieces).toBeGreaterThan(3);
  expect(usage!.total_tokens).toBeGreaterThan(0);
});

test('OpenAI’s client gets errors of the demo’s endpoint for an unknown model and for a malformed body', async () => {
  await expect(
    client().chat.completions.create({ model: 'gpt-0', messages: question }),
  ).rejects.toMatchObject({ status: 404 });
  await expect(
    client().chat.completions.create({ model: 'offline', messages: [] }),
  ).rejects.toMatchObject({
    status: 400,
    code: 'INVALID_INPUT',
  });
  expect((await client().models.list()).data.map(({ id }) => id)).toContain('offline');
});

test('AI SDK’s transport and reader work in a conversation of two questions', async () => {
  const transport = new DefaultChatTransport<UIMessage>({ api: `${inject('demoUrl')}/api/chat` });
  const chatId = crypto.randomUUID();
  const turn = async (text: string): Promise<UIMessage> => {
    const message: UIMessage = {
      id: crypto.randomUUID(),
      role: 'user',
      parts: [{ type: 'text', text }],
    };
    const stream = await transport.sendMessages({
      trigger: 'submit-message',
      chatId,
      messageId: undefined,
      messages: [message],
      abortSignal: undefined,
    });
    let last: UIMessage | undefined;
    for await (const read of readUIMessageStream({ stream, terminateOnError: true })) last = read;
    return last!;
  };
  const answer = await turn('Note: 牛乳を買う');
  expect(answer.parts.filter((part) => part.type === 'dynamic-tool')).toMatchObject([
    { toolName: 'notes', state: 'output-available' },
  ]);
  await turn('show my notes');
  const history = (await (
    await fetch(`${inject('demoUrl')}/api/chat/${chatId}/messages`)
  ).json()) as { messages: UIMessage[] };
  expect(history.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
  expect(JSON.stringify(history.messages.at(-1))).toMatch(/\d+\. 牛乳を買う/);
});

test('the demo’s endpoint answers a malformed body with an error code', async () => {
  const response = await fetch(`${inject('demoUrl')}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"id":',
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: 'INVALID_INPUT', requestId: expect.any(String) },
  });
});
