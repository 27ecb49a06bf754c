import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { ReActAgent } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { createAgentHandler } from '../handler/agent-handler.ts';
import { kvSessions } from '../kv/index.ts';

const [secret, oldSecret] = ['s'.repeat(32), 'o'.repeat(32)];
const bindings = env as { readonly CHAT_KV: KVNamespace };

interface Answer {
  readonly messages: UIMessage[];
  readonly echo?: string;
}

/** Creates an endpoint that stores sessions in KV and always gives the same reply. */
function endpoint(
  secrets: object = { SESSION_SECRET: secret },
  reply: ScriptedReply = 'An answer.',
) {
  const handler = createAgentHandler<{ readonly CHAT_KV: KVNamespace }>({
    agent: ({ memory }) =>
      new ReActAgent({ name: 'assistant', model: new ScriptedModel([reply]), memory }),
    authorize: (request) => ({ user: request.headers.get('authorization') ?? 'ann' }),
    kv: kvSessions(),
  });
  const pending: Promise<unknown>[] = [];
  const fetchIt = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const context = createExecutionContext();
    const response = await handler.fetch(
      new Request(new URL(String(input), 'https://edge.test'), init),
      { ...bindings, ...secrets },
      context,
    );
    pending.push(waitOnExecutionContext(context));
    return response;
  };
  /**
   * Posts messages as `useChat` does. With `leave`, the client disconnects after the first chunk.
   */
  const chat = async (
    chatId: string,
    messages: UIMessage[],
    { leave = false, regenerate = false } = {},
  ): Promise<UIMessage> => {
    const transport = new DefaultChatTransport({
      api: 'https://edge.test/api/chat',
      fetch: fetchIt as typeof fetch,
    });
    const trigger = regenerate ? ('regenerate-message' as const) : ('submit-message' as const);
    const stream = await transport.sendMessages({
      chatId,
      messages,
      trigger,
      messageId: undefined,
      abortSignal: undefined,
    });
    let last: UIMessage | undefined;
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) {
      last = structuredClone(message);
      if (leave) break;
    }
    await Promise.all(pending);
    return last!;
  };
  const get = async (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    (await fetchIt(path, { headers })).json();
  return { fetch: fetchIt, chat, get, settled: () => Promise.all(pending) };
}

let chats = 0;
const newChat = (): string => `echo-${++chats}.${crypto.randomUUID()}`;

function ask(text: string): UIMessage {
  return { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
}

function echoIn(message: UIMessage | undefined): string {
  return (message!.metadata as { readonly echo: string }).echo;
}

function payloadOf(echo: string): {
  readonly base?: string;
  readonly turnId?: string;
} {
  return JSON.parse(
    atob(echo.split('.')[0]!.replaceAll('-', '+').replaceAll('_', '/')),
  ) as ReturnType<typeof payloadOf>;
}

const questions = (messages: readonly UIMessage[]): readonly string[] =>
  messages.flatMap(({ role, parts }) =>
    role === 'user' ? parts.map((part) => (part.type === 'text' ? part.text : '')) : [],
  );

test('useChat sends the echo (the token of the session) back on its own, and each answer ends with a new echo', async () => {
  const { chat, get } = endpoint();
  const id = newChat();
  const first = ask('one');
  const answer = await chat(id, [first]);
  expect(payloadOf(echoIn(answer))).toMatchObject({
    base: expect.stringMatching(/^00000001\./),
  });
  expect(payloadOf(echoIn(answer)).turnId).toBeUndefined();

  const second = await chat(id, [first, answer, ask('two')]);
  expect(payloadOf(echoIn(second)).base).toMatch(/^00000002\./);
  const { messages, echo } = await get(`/api/chat/${id}/messages`);
  expect(questions(messages)).toEqual(['one', 'two']);
  expect(echoIn(messages.at(-1))).toBe(echo);
  await chat(id, [...messages, ask('three')]);
  expect(questions((await get(`/api/chat/${id}/messages`)).messages)).toEqual([
    'one',
    'two',
    'three',
  ]);
});

test('a client that left in the middle of an answer continues from the stored answer', async () => {
  const { chat, get } = endpoint();
  const id = newChat();
  const first = ask('one');
  const partial = await chat(id, [first], { leave: true });
  expect(payloadOf(echoIn(partial)).turnId).toBeDefined();
  await chat(id, [first, partial, ask('two')]);
  expect(questions((await get(`/api/chat/${id}/messages`)).messages)).toEqual(['one', 'two']);
});

test.for([true, false])(
  'after Stop, a question sent before the first answer has ended stays in the same session (start received: %s)',
  async (hasCome) => {
    const id = newChat();
    const first = ask('one');
    let open!: () => void;
    const wait = new Promise<void>((resolve) => (open = resolve));
    const slow = endpoint(undefined, [{ text: 'So far ' }, { wait, text: 'and on.' }]);
    const response = await slow.fetch('/api/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, messages: [first] }),
    });
    const reader = response.body!.getReader();
    const [start] = new TextDecoder()
      .decode((await reader.read()).value)
      .matchAll(/^data: (\{.*\})$/gm);
    await reader.cancel();
    const { messageMetadata: metadata, messageId } = JSON.parse(start![1]!) as {
      messageMetadata: object;
      messageId: string;
    };
    const partial: UIMessage = {
      id: messageId,
      role: 'assistant',
      metadata,
      parts: [{ type: 'text', text: 'So far ' }],
    };

    const { chat, get } = endpoint();
    const before = hasCome ? [first, partial] : [first];
    const answer = await chat(id, [...before, ask('two')]);
    open();
    await slow.settled();

    await chat(id, [...before, answer, ask('three')]);
    const { messages } = await get(`/api/chat/${id}/messages`);
    expect(questions(messages)).toEqual(['two', 'one', 'three']);
    expect(JSON.stringify(messages)).toContain('So far and on.');
  },
);

test('the endpoint regenerates the first answer, although the request has no echo', async () => {
  const { chat, get } = endpoint();
  const id = newChat();
  const first = ask('one');
  await chat(id, [first]);
  const again = await chat(id, [first], { regenerate: true });
  const { messages } = await get(`/api/chat/${id}/messages`);
  expect(messages.length).toBe(2);
  expect(payloadOf(echoIn(again)).base).toMatch(/^00000002\./);
});

test('the slower of two concurrent requests fails with SESSION_CONFLICT; both branches can be read, and its own branch continued', async () => {
  const target = endpoint();
  const id = newChat();
  const lost = await target.chat(id, [ask('in a tab')]);
  const won = await target.chat(id, [ask('in another')]);
  const post = (messages: UIMessage[]): Promise<Response> =>
    target.fetch('/api/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, messages }),
    });
  const response = await post([lost, ask('more')]);
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({ error: { code: 'SESSION_CONFLICT' } });

  const both = (await target.get(`/api/chat/${id}/branches`, {
    'x-isoloop-echo': echoIn(lost),
  })) as unknown as Record<'yours' | 'theirs', Answer>;
  expect(questions(both.yours.messages)).toEqual(['in a tab']);
  expect(questions(both.theirs.messages)).toEqual(['in another']);
  await target.chat(id, [...both.yours.messages, ask('more')]);
  expect(questions((await target.get(`/api/chat/${id}/messages`)).messages)).toEqual([
    'in a tab',
    'more',
  ]);
  expect((await post([won, ask('and I?')])).status).toBe(409);
});

test.for([
  [
    'altered',
    (echo: string) => `${echo.slice(0, 8)}${echo[8] === 'A' ? 'B' : 'A'}${echo.slice(9)}`,
  ],
  ['not an echo', () => 'hello'],
  ['a number', () => 1],
] as const)('the endpoint rejects an echo that is %s', async ([, forge]) => {
  const { fetch, chat } = endpoint();
  const id = newChat();
  const answer = await chat(id, [ask('one')]);
  const messages = [{ ...answer, metadata: { echo: forge(echoIn(answer)) } }, ask('two')];
  const response = await fetch('/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, messages }),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'INVALID_INPUT' } });
});

test('the endpoint rejects the echo of another user or another session', async () => {
  const { fetch, chat } = endpoint();
  const id = newChat();
  const echo = echoIn(await chat(id, [ask('one')]));
  const asked = await Promise.all([
    fetch(`/api/chat/${id}/messages`, {
      headers: { 'x-isoloop-echo': echo, authorization: 'bea' },
    }),
    fetch(`/api/chat/${newChat()}/messages`, { headers: { 'x-isoloop-echo': echo } }),
    fetch(`/api/chat/${id}/messages`, { headers: { 'x-isoloop-echo': echo } }),
  ]);
  expect(asked.map(({ status }) => status)).toEqual([400, 400, 200]);
});

test('the endpoint accepts echoes of both secrets during a change of the secret, and then only of the new secret', async () => {
  const id = newChat();
  const first = ask('one');
  const answer = await endpoint({ SESSION_SECRET: oldSecret }).chat(id, [first]);
  const next = await endpoint({ SESSION_SECRET: secret, SESSION_SECRET_OLD: oldSecret }).chat(id, [
    first,
    answer,
    ask('two'),
  ]);
  const { get, fetch } = endpoint();
  expect(
    questions((await get(`/api/chat/${id}/messages`, { 'x-isoloop-echo': echoIn(next) })).messages),
  ).toEqual(['one', 'two']);
  expect(
    (await fetch(`/api/chat/${id}/messages`, { headers: { 'x-isoloop-echo': echoIn(answer) } }))
      .status,
  ).toBe(400);
});

test('without a secret, the endpoint sends no echoes and ignores older echoes', async () => {
  const id = newChat();
  const first = ask('one');
  const answer = await endpoint().chat(id, [first]);
  const { chat, get } = endpoint({});
  const next = await chat(id, [first, answer, ask('two')]);
  expect(next.metadata).not.toHaveProperty('echo');
  const { messages, echo } = await get(`/api/chat/${id}/messages`);
  expect([questions(messages), echo]).toEqual([['one', 'two'], undefined]);
  expect(await get(`/api/chat/${id}/branches`)).toEqual({});
});
