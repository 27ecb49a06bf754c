import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { ReActAgent, tool, type AgentOptions } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import OpenAI from 'openai';
import * as z from 'zod';
import { briefSessions, factories, sessions, type SessionEnv } from './agent-session.ts';
import type { SessionAgent } from '../src/settings/handler-options.ts';

export const given = env as unknown as SessionEnv;

export const clock = tool({
  name: 'clock',
  description: 'The time',
  input: z.object({}),
  execute: () => '12:00',
});

interface Options extends Partial<AgentOptions> {
  readonly brief?: boolean;
  readonly user?: string;
  readonly parts?: Partial<SessionAgent>;
}

export interface Session {
  readonly id: string;
  readonly user: string;
  /** The agents' scripted model, and the model names that the requests asked for. */
  readonly script: { readonly model: ScriptedModel; readonly models: string[] };
  readonly stub: DurableObjectStub;
  readonly transport: DefaultChatTransport<UIMessage>;
  readonly send: (input: RequestInfo | URL, init?: RequestInit, from?: string) => Promise<Response>;
  readonly post: (
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Response>;
  readonly chat: (
    messages: UIMessage[],
    trigger?: 'submit-message' | 'regenerate-message',
  ) => Promise<UIMessage>;
  /** Posts to `/api/run` of this session. */
  readonly run: (body: object, headers?: Record<string, string>) => Promise<Response>;
  /** OpenAI's client with this session's id in a header. */
  readonly openai: OpenAI;
  readonly messages: () => Promise<UIMessage[]>;
  readonly list: (
    query?: string,
  ) => Promise<
    readonly { sessionId: string; title?: string; updatedAt: number; createdAt: number }[]
  >;
}

/**
 * Opens a session and its client. The session's agents give the scripted replies in order. The
 * endpoint has no KV, only the session's Durable Object.
 */
export function open(
  replies: readonly ScriptedReply[],
  { brief, user = `ann-${crypto.randomUUID()}`, parts, ...options }: Options = {},
): Session {
  const id = crypto.randomUUID();
  const objects = brief ? given.BRIEF_SESSIONS : given.TEST_SESSIONS;
  const script = { model: new ScriptedModel(replies), models: [] as string[] };
  factories.set(id, ({ memory, sessionId, model }) => {
    script.models.push(model);
    return {
      agent: new ReActAgent({
        name: 'assistant',
        memory,
        sessionId,
        tools: [clock],
        model: script.model,
        ...options,
      }),
      ...parts,
    };
  });
  const send = (
    input: RequestInfo | URL,
    init: RequestInit = {},
    from = user,
  ): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${from}`);
    const request = new Request(new URL(String(input), 'https://edge.test'), { ...init, headers });
    const handler = brief ? briefSessions : sessions;
    return Promise.resolve(
      handler.fetch(request, { CHAT_SESSION: objects } as never, createExecutionContext()),
    );
  };
  const post = (
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    send(path, {
      method: 'POST',
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    });
  const openai = new OpenAI({
    baseURL: 'https://edge.test/v1',
    apiKey: 'unused',
    fetch: send as typeof fetch,
    maxRetries: 0,
    defaultHeaders: { 'x-isoloop-session': id },
  });
  const transport = new DefaultChatTransport({
    api: 'https://edge.test/api/chat',
    fetch: send as typeof fetch,
  });
  const chat = async (
    messages: UIMessage[],
    trigger: 'submit-message' | 'regenerate-message' = 'submit-message',
  ): Promise<UIMessage> => {
    const stream = await transport.sendMessages({
      chatId: id,
      messages,
      trigger,
      messageId: undefined,
      abortSignal: undefined,
    });
    return read(stream, trigger === 'submit-message' ? messages.at(-1) : undefined);
  };
  const messages = async (): Promise<UIMessage[]> =>
    ((await (await send(`/api/chat/${id}/messages`)).json()) as { messages: UIMessage[] }).messages;
  const list = async (
    query = '',
  ): Promise<
    readonly { sessionId: string; title?: string; updatedAt: number; createdAt: number }[]
  > => ((await (await send(`/api/chats${query}`)).json()) as { chats: [] }).chats;
  const run: Session['run'] = (body, headers) =>
    post('/api/run', { sessionId: id, ...body }, headers);
  // Returns a new stub each time, because a stub stays broken after its object dies.
  const stub = (): DurableObjectStub => objects.get(objects.idFromName(`${user}/${id}`));
  return {
    id,
    user,
    script,
    send,
    post,
    chat,
    run,
    openai,
    messages,
    list,
    transport,
    get stub() {
      return stub();
    },
  };
}

export async function read(
  stream: ReadableStream<UIMessageChunk>,
  last?: UIMessage,
): Promise<UIMessage> {
  let message: UIMessage | undefined;
  let failure: unknown;
  const onError = (error: unknown): void => void (failure = error);
  const of = last?.role === 'assistant' ? { message: last } : {};
  for await (const each of readUIMessageStream({ ...of, stream, onError, terminateOnError: true }))
    message = each;
  if (failure) throw failure;
  return message!;
}

export function ask(text: string, id: string = crypto.randomUUID()): UIMessage {
  return { id, role: 'user', parts: [{ type: 'text', text }] };
}

export const textOf = (message: UIMessage | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');

export function gate(): { readonly passed: Promise<void>; open(): void } {
  let release!: () => void;
  const passed = new Promise<void>((resolve) => (release = resolve));
  return { passed, open: () => release() };
}

export const codeOf = async (response: Response): Promise<unknown[]> => [
  response.status,
  ((await response.json()) as { error: { code: string } }).error.code,
];

/** Posts a message to the chat and disconnects when the answer contains `text`. */
export async function leaveAt(session: Session, message: UIMessage, text: string): Promise<void> {
  await leave(await session.post('/api/chat', { id: session.id, messages: [message] }), text);
}

/** Disconnects when the answer contains `text`. Returns the text that has arrived. */
export async function leave(response: Response, text: string): Promise<string> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let seen = '';
  while (!seen.includes(text)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`The answer ended before "${text}": ${seen}`);
    seen += decoder.decode(value);
  }
  await reader.cancel();
  return seen;
}

export interface PublicEvent {
  readonly type: string;
  readonly runId: string;
  readonly seq: number;
  readonly delta?: string;
  readonly [field: string]: unknown;
}

/** Parses the events in a response of `/api/run`. */
export function eventsIn(text: string): readonly PublicEvent[] {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, json]) => JSON.parse(json!) as PublicEvent,
  );
}

/** Returns the text of the events in a response of `/api/run`. */
export function deltasIn(text: string): string {
  return eventsIn(text)
    .map(({ type, delta }) => (type === 'reasoning-chunk' ? delta : ''))
    .join('');
}
