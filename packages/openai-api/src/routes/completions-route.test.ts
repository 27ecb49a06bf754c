import { AgentError, type ChatModel } from '@isoloop/core';
import { RateLimitError, type APIError } from 'openai';
import { expect, test, vi } from 'vitest';
import { rolesOf } from '@test/roles-of.ts';
import type { TestEndpoint } from '../../../edge/test-support/endpoint.ts';
import { endpoint, twoTools } from '../../../edge/test-support/tool-endpoint.ts';

test('OpenAI’s client gets a whole answer from /v1, and its options reach the model', async () => {
  const target = endpoint(twoTools);
  const completion = await target.client().chat.completions.create({
    model: 'offline',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Earlier' },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'Time and sum?' },
    ],
    temperature: 0.5,
    max_tokens: 99,
  });
  expect(completion).toMatchObject({
    object: 'chat.completion',
    model: 'offline',
    choices: [
      { message: { role: 'assistant', content: 'It is noon and five.' }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
  });
  const [request] = target.model.requests;
  expect(request).toMatchObject({ temperature: 0.5, maxTokens: 99 });
  expect(rolesOf(request!.messages)).toBe('user user assistant user');
});

test('OpenAI’s client streams an answer from /v1, with token counts on request', async () => {
  for (const include_usage of [true, false]) {
    const target = endpoint(twoTools);
    const stream = await target.client().chat.completions.create({
      model: 'other',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Time and sum?' }] }],
      stream: true,
      stream_options: { include_usage },
    });
    let text = '';
    const finishes: unknown[] = [];
    const usages: unknown[] = [];
    for await (const chunk of stream) {
      expect(chunk.model).toBe('other');
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
      if (chunk.usage) usages.push(chunk.usage);
    }
    expect(text).toBe('It is noon and five.');
    expect(finishes).toEqual(['stop']);
    expect(usages).toEqual(
      include_usage ? [{ prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 }] : [],
    );
  }
});

test('a run of /v1 ends when its client disconnects', async () => {
  let aborted: AbortSignal | undefined;
  const model: ChatModel = {
    provider: 'endless',
    modelId: 'endless',
    features: { tools: true, media: [] },
    async *stream(_request, { signal }) {
      aborted = signal;
      for (;;) {
        signal.throwIfAborted();
        yield [{ type: 'text', id: 't', delta: 'on and ' }];
      }
    },
  };
  const target = endpoint(model);
  const response = await target.post('/v1/chat/completions', {
    model: 'offline',
    messages: [{ role: 'user', content: 'Go' }],
    stream: true,
  });
  const reader = response.body!.getReader();
  await reader.read();
  await reader.cancel();
  await target.settled();
  expect(aborted?.aborted).toBe(true);
});

test('OpenAI’s client gets failures of /v1 as its own error types', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const limited = new AgentError('MODEL_RATE_LIMITED', 'Slow down', {
    retryable: true,
    details: { retryAfterMs: 1500 },
  });
  const complete = (target: TestEndpoint, stream: boolean, body: object = {}): Promise<unknown> =>
    target.client().chat.completions.create({
      model: 'offline',
      messages: [{ role: 'user', content: 'Hi' }],
      stream,
      ...body,
    } as never);
  for (const stream of [true, false]) {
    const failure = (await complete(endpoint([{ error: limited }]), stream).catch(
      (error: unknown) => error,
    )) as APIError;
    expect(failure).toBeInstanceOf(RateLimitError);
    expect(failure).toMatchObject({
      status: 429,
      code: 'MODEL_RATE_LIMITED',
      type: 'rate_limit_error',
    });
    expect(failure.headers?.get('retry-after')).toBe('2');
  }
  // The response has begun, so the endpoint can report the error only in the stream.
  const halfway = (await complete(
    endpoint([{ text: 'Well, ', error: limited }]),
    true,
  )) as AsyncIterable<unknown>;
  const read = async (): Promise<void> => {
    const chunks = halfway[Symbol.asyncIterator]();
    while (!(await chunks.next()).done);
  };
  await expect(read()).rejects.toMatchObject({ code: 'MODEL_RATE_LIMITED' });

  await expect(complete(endpoint([]), false, { model: 'gpt-9' })).rejects.toMatchObject({
    status: 404,
    param: 'model',
    code: 'NOT_FOUND',
  });
  const tools = [{ type: 'function', function: { name: 'clock', parameters: {} } }];
  await expect(complete(endpoint([]), true, { tools })).rejects.toMatchObject({
    status: 400,
    param: 'tools',
    code: 'INVALID_INPUT',
  });
  for (const bad of [
    { messages: [] },
    { messages: 'x' },
    { temperature: 9 },
    { max_tokens: 0 },
    { n: 2 },
    { functions: [{}] },
  ]) {
    await expect(complete(endpoint([]), false, bad)).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'INVALID_INPUT',
    });
  }
  await expect(
    complete(endpoint([]), false, { response_format: { type: 'xml' } }),
  ).rejects.toMatchObject({
    param: 'response_format',
  });
  log.mockRestore();
});
