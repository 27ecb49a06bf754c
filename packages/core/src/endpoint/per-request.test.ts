import { expect, test } from 'vitest';
import { userMessage } from '../message/msg.ts';
import { openai } from '../model/openai/openai.ts';
import { openaiResponses } from '../model/responses/openai-responses.ts';
import { dashscope } from '../model/dashscope/dashscope.ts';
import type { ChatModel } from '../model/chat-model.ts';
import type { HttpModelOptions } from '../model/http/http-model.ts';

const models: Readonly<Record<string, (options: HttpModelOptions) => ChatModel>> = {
  openai,
  openaiResponses,
  dashscope,
};

/** Sends two requests, and returns the headers that the server gets. */
async function sentHeaders(
  create: (options: HttpModelOptions) => ChatModel,
  headers: HttpModelOptions['headers'],
): Promise<readonly Headers[]> {
  const sent: Headers[] = [];
  const model = create({
    model: 'm',
    baseURL: 'https://a.test/llm/v1',
    ...(headers && { headers }),
    fetch: async (_url, init) => {
      sent.push(new Headers(init.headers));
      return new Response('No.', { status: 400 });
    },
  });
  const { signal } = new AbortController();
  for (let requests = 0; requests < 2; requests += 1) {
    const request = { messages: [userMessage('Hi')], tools: [] };
    await expect(
      (async () => {
        for await (const _deltas of model.stream(request as never, { signal } as never));
      })(),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^MODEL_/) });
  }
  return sent;
}

test.each(Object.keys(models))(
  '%s calls an asynchronous `headers` for each request',
  async (name) => {
    let calls = 0;
    const headers = async () => ({ 'x-token': String((calls += 1)) });
    const sent = await sentHeaders(models[name]!, headers);
    expect(sent.map((each) => each.get('x-token'))).toEqual(['1', '2']);
    expect(sent.map((each) => each.get('x-dashscope-sse'))).toEqual(
      name === 'dashscope' ? ['enable', 'enable'] : [null, null],
    );
  },
);

test.each(Object.keys(models))('%s sends `headers` that are a `Headers` object', async (name) => {
  const sent = await sentHeaders(models[name]!, new Headers({ 'x-token': 'a' }));
  expect(sent.map((each) => each.get('x-token'))).toEqual(['a', 'a']);
});

test.each(Object.keys(models))('%s sends nothing if `headers` fail', async (name) => {
  const failing = async (): Promise<never> => Promise.reject(new Error('No session.'));
  expect(await sentHeaders(models[name]!, failing)).toEqual([]);
});
