import { tool, type ChatModel } from '@isoloop/core';
import type { ScriptedReply } from '@isoloop/core/testing';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import * as z from 'zod';
import type { AgentHandlerOptions } from '../src/settings/handler-options.ts';
import { testEndpoint, type TestEndpoint, type TestEnv } from './endpoint.ts';

const clock = tool({
  name: 'clock',
  description: 'The time in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `12:00 in ${city}`,
});
const sum = tool({
  name: 'sum',
  description: 'Adds',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a + b),
});

/** Opens an endpoint whose agent has the tools `clock` and `sum`. */
export function endpoint(
  replies: readonly ScriptedReply[] | ChatModel,
  options: Partial<AgentHandlerOptions<TestEnv>> = {},
): TestEndpoint {
  return testEndpoint(replies, { tools: [clock, sum] }, options);
}

/** Replies of a model that calls both tools, and then answers. */
export const twoTools: readonly ScriptedReply[] = [
  {
    toolCalls: [
      { name: 'clock', input: { city: '東京' } },
      { name: 'sum', input: { a: 2, b: 3 } },
    ],
  },
  'It is noon and five.',
];

let chats = 0;
export const newChat = (): string => `chat-${++chats}.${crypto.randomUUID()}`;

interface ChatInit {
  readonly user: string;
  readonly trigger: 'submit-message' | 'regenerate-message';
  readonly body: object;
}

/**
 * Posts a message with the transport of `useChat`, and builds the answer with its stream reader.
 */
export async function chat(
  target: TestEndpoint,
  chatId: string,
  messages: UIMessage[],
  init: Partial<ChatInit> = {},
): Promise<UIMessage> {
  const transport = new DefaultChatTransport({
    api: 'https://edge.test/api/chat',
    headers: { authorization: `Bearer ${init.user ?? 'ann'}` },
    body: init.body ?? {},
    fetch: target.fetch as typeof fetch,
  });
  const stream = await transport.sendMessages({
    chatId,
    messages,
    trigger: init.trigger ?? 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  });
  let last: UIMessage | undefined;
  let failure: unknown;
  const onError = (error: unknown): void => void (failure = error);
  for await (const message of readUIMessageStream({ stream, onError, terminateOnError: true }))
    last = message;
  await target.settled();
  if (failure) throw failure;
  return last!;
}
