import type { UiChunk } from '@isoloop/core/stream';
import { readUIMessageStream, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import type { RemoteAgent } from '@isoloop/web-worker';
import { chatOver } from '../../test-support/plain-chat.ts';
import { startWorker } from '../../test-support/worker-under-test.ts';

const user = (text: string, id = 'u1'): UIMessage => ({
  id,
  role: 'user',
  parts: [{ type: 'text', text }],
});
const send = (
  agent: RemoteAgent,
  message: object,
  options = {},
): Promise<ReadableStream<UiChunk>> =>
  agent.chatTransport(options).sendMessages({
    trigger: 'submit-message',
    messages: [message as UIMessage],
    abortSignal: undefined,
  });

const texts = (messages: readonly UIMessage[]): string[] =>
  messages.map(({ parts }) =>
    parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
  );

async function collect<T>(stream: ReadableStream<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

const addThenSay = [
  { text: 'I add.', toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] },
  'It is 3.',
];

test('AI SDK’s stream reader builds one message from the text, the tool call, its result and the final text', async () => {
  const agent = startWorker().connect('read', { replies: addThenSay });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({
    stream: await send(agent, user('1 + 2?')),
    terminateOnError: true,
  }))
    last = message;
  expect(last?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'I add.', state: 'done' },
    {
      type: 'dynamic-tool',
      toolName: 'add',
      state: 'output-available',
      input: { a: 1, b: 2 },
      output: '3',
    },
    { type: 'step-start' },
    { type: 'text', text: 'It is 3.', state: 'done' },
  ]);
});

test('useChat’s chat sends several messages to the worker, and the stored history matches', async () => {
  const agent = startWorker().connect('turns', { replies: [...addThenSay, 'No need.'] });
  const chat = chatOver(agent);
  await chat.sendMessage({ text: '1 + 2?' });
  expect(chat.error).toBeUndefined();
  expect(chat.status).toBe('ready');
  await chat.sendMessage({ text: 'thanks' });
  expect(texts(chat.messages)).toEqual(['1 + 2?', 'I add.It is 3.', 'thanks', 'No need.']);
  const history = (await agent.uiMessages()) as UIMessage[];
  expect(texts(history)).toEqual(texts(chat.messages));
  const content = (messages: readonly UIMessage[]) =>
    messages.map(({ parts }) => parts.map(({ type }) => type));
  expect(content(history)).toEqual(content(chat.messages));
  expect(history.filter(({ role }) => role === 'user').map(({ id }) => id)).toEqual(
    chat.messages.filter(({ role }) => role === 'user').map(({ id }) => id),
  );
});

test('the chat’s stream contains agent events only if they are requested', async () => {
  const agent = startWorker().connect('events', { replies: ['one', 'two'] });
  const events = (chunks: readonly UiChunk[]) =>
    chunks.flatMap((chunk) =>
      chunk.type === 'data-isoloop-event' ? [(chunk.data as { type: string }).type] : [],
    );
  expect(events(await collect(await send(agent, user('a', 'u1'), { events: true })))).toEqual([
    'run-start',
    'pre-call',
    'pre-reasoning',
    'post-reasoning',
    'post-call',
    'run-end',
  ]);
  expect(events(await collect(await send(agent, user('b', 'u2'))))).toEqual([]);
});

test('stop() aborts the run, keeps the partial text on both sides, and allows the next message at once', async () => {
  const { connect, report } = startWorker();
  const agent = connect('stop', {
    replies: [{ text: 'one two', toolCalls: [{ name: 'wait' }] }, 'fresh'],
  });
  const chat = chatOver(agent);
  const sending = chat.sendMessage({ text: 'go' });
  while ((await report('stop')).reads < 3 || texts(chat.messages)[1] !== 'one two');
  await chat.stop();
  await sending;
  await chat.sendMessage({ text: 'and now?' });
  expect(chat.error).toBeUndefined();
  expect(texts(chat.messages)).toEqual(['go', 'one two', 'and now?', 'fresh']);
  expect(texts((await agent.uiMessages()) as UIMessage[])).toEqual([
    'go',
    'one two',
    'and now?',
    'fresh',
  ]);
  expect((await report('stop')).aborted).toBe(1);
});

test('interrupt() reaches a message that was just sent', async () => {
  const database = `interrupt-${crypto.randomUUID()}`;
  const agent = startWorker().connect('int', {
    database,
    replies: [{ text: 'one two', hang: true }],
  });
  const chunks = collect(await send(agent, user('go')));
  // The stream pulls from its source in a microtask, after its start.
  await new Promise((resolve) => setTimeout(resolve));
  await agent.interrupt('Stopped by you.');
  expect((await chunks).at(-1)).toMatchObject({
    type: 'finish',
    messageMetadata: { reason: 'interrupted' },
  });
});

test('a message sent while the agent answers fails with AGENT_BUSY and leaves the log unchanged', async () => {
  const { connect } = startWorker();
  const agent = connect('busy', { replies: [{ hang: true }] });
  const reading = (await send(agent, user('one', 'u1'))).getReader();
  await reading.read();
  await expect(collect(await send(connect('busy'), user('edited', 'u1')))).rejects.toMatchObject({
    code: 'AGENT_BUSY',
  });
  await reading.cancel();
  expect(texts((await agent.uiMessages()) as UIMessage[])).toEqual(['one']);
});

test('a reader that continues after an abort gets the end of the stream', async () => {
  const agent = startWorker().connect('abort', { replies: [{ text: 'one two', hang: true }] });
  const controller = new AbortController();
  const stream = await agent.chatTransport().sendMessages({
    trigger: 'submit-message',
    messages: [user('go')],
    abortSignal: controller.signal,
  });
  const types: string[] = [];
  for await (const chunk of stream) {
    types.push(chunk.type);
    if (chunk.type === 'text-delta') controller.abort();
  }
  expect(types.at(-1)).toBe('abort');
});

test('regenerate() answers the last message again and drops the old answer', async () => {
  const { connect } = startWorker();
  const agent = connect('regenerate', { replies: [...addThenSay, 'Three.'] });
  const chat = chatOver(agent);
  await chat.sendMessage({ text: '1 + 2?' });
  await chat.regenerate();
  expect(chat.error).toBeUndefined();
  expect(texts(chat.messages)).toEqual(['1 + 2?', 'Three.']);
  expect(texts((await agent.uiMessages()) as UIMessage[])).toEqual(['1 + 2?', 'Three.']);
});

test('an edited message replaces the old one and all later messages', async () => {
  const agent = startWorker().connect('edit', { replies: ['A cat.', 'Two cats.', 'A dog.'] });
  const chat = chatOver(agent);
  await chat.sendMessage({ text: 'draw a cat' });
  await chat.sendMessage({ text: 'another' });
  await chat.sendMessage({ text: 'draw a dog', messageId: chat.messages[0]!.id });
  expect(texts(chat.messages)).toEqual(['draw a dog', 'A dog.']);
  expect(texts((await agent.uiMessages()) as UIMessage[])).toEqual(['draw a dog', 'A dog.']);
});

test('a failure becomes the chat’s error with its code, and a retry answers the same message', async () => {
  const agent = startWorker().connect('fail', { rateLimited: true, replies: ['whole'] });
  const errors: Error[] = [];
  const chat = chatOver(agent, { onError: (error) => errors.push(error) });
  await chat.sendMessage({ text: 'go' });
  expect(chat.status).toBe('error');
  expect(errors).toMatchObject([
    { code: 'MODEL_RATE_LIMITED', message: 'slow down', details: { retryAfterMs: 1500 } },
  ]);
  await chat.regenerate();
  expect(chat.error).toBeUndefined();
  expect(texts(chat.messages)).toEqual(['go', 'whole']);
  expect(texts((await agent.uiMessages()) as UIMessage[])).toEqual(['go', 'whole']);
});

test('a worker that dies during an answer becomes the chat’s error', async () => {
  const { worker, connect } = startWorker();
  const chat = chatOver(connect('dies', { replies: [{ text: 'one two', hang: true }] }));
  const sending = chat.sendMessage({ text: 'go' });
  while (texts(chat.messages)[1] !== 'one two')
    await new Promise((resolve) => requestAnimationFrame(resolve));
  worker.terminate();
  await sending;
  expect(chat.error).toMatchObject({ code: 'WORKER_TERMINATED' });
  expect(texts(chat.messages)).toEqual(['go', 'one two']);
});

test.for([
  [
    'a message of the assistant',
    { id: 'a', role: 'assistant', parts: [{ type: 'text', text: 'x' }] },
  ],
  ['a message without parts', { id: 'a', role: 'user' }],
  ['a part of an unknown type', { id: 'a', role: 'user', parts: [{ type: 'data-x', data: 1 }] }],
  ['no message', undefined],
] as const)(
  'a chat with %s fails with INVALID_MESSAGE, and nothing is stored',
  async ([, message]) => {
    const { connect, report } = startWorker();
    const agent = connect('refuse', {});
    await expect(collect(await send(agent, message as object))).rejects.toMatchObject({
      code: 'INVALID_MESSAGE',
    });
    expect(await agent.messages()).toEqual([]);
    expect((await report('refuse')).requests).toBe(0);
  },
);

test('resumeStream() leaves the chat ready and empty if there is no run', async () => {
  const chat = chatOver(startWorker().connect('reconnect', {}));
  await chat.resumeStream();
  expect(chat.status).toBe('ready');
  expect(chat.messages).toEqual([]);
});

test('a message in a proxy, as Vue and Svelte keep it, is sent', async () => {
  const agent = startWorker().connect('proxy', { replies: ['Hello.'] });
  const proxied = (value: object): object =>
    new Proxy(value, {
      get: (target, name) => {
        const field: unknown = Reflect.get(target, name);
        return typeof field === 'object' && field ? proxied(field) : field;
      },
    });
  const message = proxied(user('hi'));
  expect(() => structuredClone(message)).toThrow();
  expect((await collect(await send(agent, message))).at(-1)).toMatchObject({ type: 'finish' });
});
