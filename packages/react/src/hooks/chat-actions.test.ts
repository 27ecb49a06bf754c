import {
  agentEndpoint,
  type AgentSource,
  type AgentUIMessage,
  type FinishedAnswer,
  type UIMessage,
  type UseAgentChatOptions,
} from '@isoloop/react';
import { lastAssistantMessageIsCompleteWithToolCalls, type UIMessage as AiMessage } from 'ai';
import { expect, expectTypeOf, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { beginning, delta, HeldSource } from '../../../web-worker/test-support/held-source.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';
import { fakeClock } from '@test/clock/fake-clock.ts';

async function opened(source: AgentSource, options: Partial<UseAgentChatOptions> = {}) {
  const view = mountChat(source, { sessionId: crypto.randomUUID(), ...options });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  return view;
}

/** Sends a message and waits until the source has it. */
async function asked(view: MountedChat, source: HeldSource, text = 'go'): Promise<void> {
  const count = source.requests.length;
  void view.chat().sendMessage({ text });
  await expect.poll(() => source.requests.length).toBe(count + 1);
}

async function answered(view: MountedChat, source: HeldSource, id: string): Promise<void> {
  source.batch(...beginning(id), delta(id), { type: 'text-end', id: 't' });
  source.end();
  await expect.poll(() => view.chat().status).toBe('ready');
}

test('sendMessage() sends a text with files, given as files or as parts', async () => {
  const source = new HeldSource();
  const view = await opened(source);
  const files = [
    new File(['one'], 'one.txt', { type: 'text/plain' }),
    { type: 'file', mediaType: 'image/png', url: 'https://host/a.png' } as const,
  ];
  void view.chat().sendMessage({ text: 'look', files, metadata: { from: 'me' } });
  await expect.poll(() => source.requests).toHaveLength(1);
  expect(source.requests[0]!.messages).toEqual([
    {
      id: expect.any(String),
      role: 'user',
      metadata: { from: 'me' },
      parts: [
        {
          type: 'file',
          mediaType: 'text/plain',
          filename: 'one.txt',
          url: `data:text/plain;base64,${btoa('one')}`,
        },
        files[1],
        { type: 'text', text: 'look' },
      ],
    },
  ]);
  await answered(view, source, 'a');
  const chosen = new DataTransfer();
  chosen.items.add(files[0] as File);
  void view.chat().sendMessage({ files: chosen.files });
  await expect.poll(() => source.requests).toHaveLength(2);
  expect(source.requests[1]!.messages.at(-1)!.parts).toMatchObject([{ filename: 'one.txt' }]);
});

test('with messageId, sendMessage() replaces a message of the user and all later ones', async () => {
  const source = new HeldSource();
  const view = await opened(source);
  await asked(view, source, 'one');
  await answered(view, source, 'a');
  await asked(view, source, 'two');
  await answered(view, source, 'b');
  const [first, answer] = view.chat().messages;
  void view.chat().sendMessage({ text: 'edited', messageId: first!.id });
  await expect.poll(() => source.requests).toHaveLength(3);
  expect(source.requests[2]).toMatchObject({
    trigger: 'submit-message',
    messageId: first!.id,
    messages: [{ id: first!.id, parts: [{ text: 'edited' }] }],
  });
  await answered(view, source, 'c');
  expect(linesOf(view)).toEqual(['user: edited', 'assistant: c']);
  for (const messageId of ['nobody', answer!.id]) {
    await view.chat().sendMessage({ text: 'x', messageId });
    await expect.poll(() => view.chat().error).toMatchObject({ code: 'INVALID_INPUT' });
    view.chat().clearError();
  }
  expect(source.requests).toHaveLength(3);
});

test('regenerate() asks again, also for an earlier answer', async () => {
  const source = new HeldSource();
  const view = await opened(source);
  for (const id of ['a', 'b']) {
    await asked(view, source, id);
    await answered(view, source, id);
  }
  void view.chat().regenerate({ body: { fast: true } });
  await expect.poll(() => source.requests).toHaveLength(3);
  expect(source.requests[2]).toMatchObject({
    trigger: 'regenerate-message',
    body: { fast: true },
    messages: [{}, {}, { role: 'user', parts: [{ text: 'b' }] }],
  });
  await answered(view, source, 'c');
  void view.chat().regenerate({ messageId: 'a' });
  await expect.poll(() => source.requests).toHaveLength(4);
  expect(source.requests[3]!.messages).toHaveLength(1);
  await answered(view, source, 'd');
  expect(linesOf(view)).toEqual(['user: a', 'assistant: d']);
});

test('stop() ends the reading at once, and nothing that comes later is shown', async () => {
  const source = new HeldSource();
  const view = await opened(source);
  await asked(view, source);
  source.batch(...beginning('a'), delta('half'));
  await expect.poll(() => view.chat().status).toBe('streaming');
  await view.chat().stop();
  source.batch(delta(' more'));
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(linesOf(view)).toEqual(['user: go', 'assistant: half']);
  expect(view.chat().error).toBeUndefined();
});

test('an error keeps what has arrived, and retry() asks the question again', async () => {
  const source = new HeldSource();
  const errors: Error[] = [];
  const view = await opened(source, { onError: (error) => errors.push(error) });
  await asked(view, source);
  source.batch(...beginning('a'), delta('half'), { type: 'error', errorText: 'It broke. [X]' });
  await expect.poll(() => view.chat().status).toBe('error');
  expect(view.chat().error).toMatchObject({ message: 'It broke. [X]' });
  expect(errors).toEqual([view.chat().error]);
  expect(linesOf(view)).toEqual(['user: go', 'assistant: half']);
  const [question] = view.chat().messages;
  void view.chat().retry();
  await expect.poll(() => source.requests).toHaveLength(2);
  expect(source.requests[1]).toMatchObject({ messageId: question!.id, messages: [question] });
  await answered(view, source, 'b');
  expect(linesOf(view)).toEqual(['user: go', 'assistant: b']);
  expect(view.chat().error).toBeUndefined();
});

test('after a history that could not be loaded, retry() loads it', async () => {
  const source = new HeldSource();
  source.failure = new Error('Down.');
  source.history = [{ id: 'q', role: 'user', parts: [{ type: 'text', text: 'hi' }] }];
  const view = mountChat(source, { sessionId: crypto.randomUUID() }, { strict: false });
  await expect.poll(() => view.chat()?.error?.message).toBe('Down.');
  expect(view.chat().status).toBe('error');
  source.failure = undefined;
  await view.chat().retry();
  await expect.poll(() => linesOf(view)).toEqual(['user: hi']);
  expect(view.chat().status).toBe('ready');
  expect(source.requests).toEqual([]);
});

test('a question that was lost with the connection stays, and retry() sends it', async () => {
  const source = new HeldSource();
  const view = await opened(source);
  const clock = fakeClock();
  const asking = view.chat().sendMessage({ text: 'go' });
  await clock.waitFor(() => expect(source.requests).toHaveLength(1));
  source.failure = new TypeError('Failed to fetch');
  source.end(source.failure);
  await asking;
  await clock.advance(60_000);
  await clock.waitFor(() => expect(view.chat().status).toBe('error'));
  expect(linesOf(view)).toEqual(['user: go']);
  source.failure = undefined;
  void view.chat().retry();
  await clock.waitFor(() => expect(source.requests).toHaveLength(2));
  expect(source.requests[1]!.messages).toEqual(view.chat().messages);
  source.batch(...beginning('a'), delta('Hello.'));
  source.end();
  await clock.waitFor(() => expect(linesOf(view)).toEqual(['user: go', 'assistant: Hello.']));
});

test('setMessages() takes messages or a function, and the next request sends them', async () => {
  const source = new HeldSource();
  const view = await opened(source);
  const parts: UIMessage['parts'] = [{ type: 'text', text: 'x' }];
  view.chat().setMessages([{ id: '1', role: 'user', parts }]);
  view.chat().setMessages((messages) => [...messages, { id: '2', role: 'assistant', parts }]);
  await expect.poll(() => linesOf(view)).toEqual(['user: x', 'assistant: x']);
  await asked(view, source, 'y');
  expect(source.requests[0]!.messages.map(({ id }) => id).slice(0, 2)).toEqual(['1', '2']);
});

test('setMessages() throws what its function throws, and changes neither messages nor `error`', async () => {
  const source = new HeldSource();
  source.failure = new Error('Down.');
  const view = mountChat(source, { sessionId: crypto.randomUUID() }, { strict: false });
  await expect.poll(() => view.chat()?.error?.message).toBe('Down.');
  view.chat().setMessages([{ id: '1', role: 'user', parts: [{ type: 'text', text: 'x' }] }]);
  await expect.poll(() => linesOf(view)).toEqual(['user: x']);
  const change = (): never => {
    throw new Error('No such message.');
  };
  expect(() => view.chat().setMessages(change)).toThrow('No such message.');
  expect(linesOf(view)).toEqual(['user: x']);
  expect(view.chat().error?.message).toBe('Down.');
});

test('handlers get tool calls, data and the end of the answer; the latest ones are called', async () => {
  const source = new HeldSource();
  const seen: unknown[] = [];
  const handlers = (name: string): Partial<UseAgentChatOptions> => ({
    onToolCall: ({ toolCall }) => void seen.push([name, 'call', toolCall.toolName, toolCall.input]),
    onData: ({ type, data }) => void seen.push([name, type, data]),
    onFinish: ({ message, messages, isAbort, isError, isDisconnect, finishReason }) =>
      void seen.push([
        name,
        message.id,
        messages.length,
        isAbort,
        isError,
        isDisconnect,
        finishReason,
      ]),
  });
  const sessionId = crypto.randomUUID();
  const view = mountChat(source, { sessionId, ...handlers('first') });
  await expect.poll(() => view.chat()?.status).toBe('ready');
  view.render({ sessionId, ...handlers('latest') });
  await asked(view, source);
  const call = { toolCallId: 'c', toolName: 'find', input: { a: 1 } };
  source.batch(
    ...beginning('a'),
    { type: 'tool-input-available', ...call },
    { type: 'tool-input-available', ...call },
    { type: 'tool-input-available', ...call, toolCallId: 'd', providerExecuted: true },
    { type: 'data-map', data: 3 },
    { type: 'data-note', data: 4, transient: true },
    { type: 'finish', finishReason: 'stop' },
  );
  source.end();
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(seen).toEqual([
    ['latest', 'call', 'find', { a: 1 }],
    ['latest', 'data-map', 3],
    ['latest', 'data-note', 4],
    ['latest', 'a', 2, false, false, false, 'stop'],
  ]);
  expect(view.chat().messages[1]!.parts).toContainEqual({ type: 'data-map', data: 3 });
  await asked(view, source);
  source.batch(...beginning('b'), delta('half'));
  await expect.poll(() => view.chat().status).toBe('streaming');
  await view.chat().stop();
  expect(seen.at(-1)).toEqual(['latest', 'b', 4, true, false, false, undefined]);
});

test('a handler that fails becomes the error of the chat', async () => {
  const source = new HeldSource();
  const view = await opened(source, {
    onToolCall: () => Promise.reject(new Error('Not here.')),
  });
  await asked(view, source);
  const call = { toolCallId: 'c', toolName: 'find', input: {} };
  source.batch(...beginning('a'), { type: 'tool-input-available', ...call });
  source.end();
  await expect.poll(() => view.chat().error?.message).toBe('Not here.');
});

test('the result of a tool of the page is sent with sendAutomaticallyWhen, or with sendMessage()', async () => {
  const source = new HeldSource();
  const view: MountedChat = await opened(source, {
    onToolCall: ({ toolCall }) =>
      view.chat().addToolOutput({
        tool: toolCall.toolName,
        toolCallId: toolCall.toolCallId,
        output: 'blue',
      }),
    sendAutomaticallyWhen: ({ messages }) =>
      lastAssistantMessageIsCompleteWithToolCalls({ messages }),
  });
  await asked(view, source);
  const call = { type: 'tool-input-available', toolName: 'color', input: {} } as const;
  source.batch({ type: 'start', messageId: 'a' }, { type: 'start-step' });
  source.batch({ ...call, toolCallId: 'c' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: color output-available blue');
  source.end();
  await expect.poll(() => source.requests).toHaveLength(2);
  expect(source.requests[1]).toMatchObject({ trigger: 'submit-message', messageId: 'a' });
  await expect.poll(() => view.chat().status).toBe('submitted');
  source.batch({ type: 'start', messageId: 'a' }, { type: 'start-step' });
  source.batch({ type: 'text-start', id: 't' }, delta('Done.'), { type: 'text-end', id: 't' });
  source.end();
  await expect.poll(() => view.chat().status).toBe('ready');
  expect(linesOf(view)[1]).toBe('assistant: color output-available blue | Done.');
  expect(source.requests).toHaveLength(2);
  await view.chat().addToolOutput({
    tool: 'color',
    toolCallId: 'c',
    state: 'output-error',
    errorText: 'No color.',
  });
  await expect.poll(() => linesOf(view)[1]).toContain('color output-error');
  void view.chat().sendMessage();
  await expect.poll(() => source.requests).toHaveLength(3);
  expect(source.requests[2]).toMatchObject({ trigger: 'submit-message', messageId: 'a' });
});

test('a failure of sendAutomaticallyWhen becomes `error`, at the end of an answer and after a result', async () => {
  const source = new HeldSource();
  let failures = 0;
  const view = await opened(source, {
    sendAutomaticallyWhen() {
      failures += 1;
      throw new Error(`failure ${failures}`);
    },
  });
  await asked(view, source);
  const call = { type: 'tool-input-available', toolName: 'color', input: {} } as const;
  source.batch({ type: 'start', messageId: 'a' }, { type: 'start-step' });
  source.batch({ ...call, toolCallId: 'c' });
  source.end();
  await expect.poll(() => view.chat().error?.message).toBe('failure 1');
  await view.chat().addToolOutput({ tool: 'color', toolCallId: 'c', output: 'blue' });
  await expect.poll(() => view.chat().error?.message).toBe('failure 2');
  expect(linesOf(view)[1]).toBe('assistant: color output-available blue');
  expect(source.requests).toHaveLength(1);
});

test('headers and body of one request reach the endpoint', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  const requests: RequestInit[] = [];
  const fetch: typeof globalThis.fetch = (url, init = {}) => {
    if (init.method === 'POST') requests.push(init);
    return endpoint.fetch(url as string, init);
  };
  const headers = { Authorization: 'common', 'x-more': 'yes' };
  const view = await opened(agentEndpoint('/api/chat', { fetch, headers, body: { model: 'm' } }));
  await view
    .chat()
    .sendMessage({ text: 'hi' }, { headers: { authorization: 'own' }, body: { extra: 1 } });
  expect(requests[0]!.headers).toEqual({
    authorization: 'own',
    'x-more': 'yes',
    'content-type': 'application/json',
  });
  expect(JSON.parse(String(requests[0]!.body))).toMatchObject({ model: 'm', extra: 1 });
});

test('the types of messages, handlers and results come from the agent', async () => {
  const source = new HeldSource();
  const view = await opened(source);
  type Message = UIMessage<
    unknown,
    { map: { zoom: number } },
    { find: { input: { a: number }; output: string }; color: { input: object; output: 'blue' } }
  >;
  expectTypeOf<AgentUIMessage>().toExtend<AiMessage>();
  const options: UseAgentChatOptions<Message> = {
    sessionId: 's',
    onToolCall({ toolCall }) {
      if (toolCall.toolName === 'find' && !toolCall.dynamic)
        expectTypeOf(toolCall.input).toEqualTypeOf<{ a: number }>();
    },
    onData(part) {
      expectTypeOf(part).toEqualTypeOf<{
        type: 'data-map';
        id?: string;
        data: { zoom: number };
      }>();
    },
    onFinish(answer) {
      expectTypeOf(answer).toEqualTypeOf<FinishedAnswer<Message>>();
    },
  };
  expect(options.sessionId).toBe('s');
  onTestFinished(() => view.unmount());
});
