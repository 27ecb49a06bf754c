import { agentEndpoint } from '@isoloop/react';
import { expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';
import type { PageFixtureOptions } from '../../../web-worker/test-support/page.ts';

const ready = async (view: MountedChat): Promise<void> => {
  await expect.poll(() => view.chat()?.status).toBe('ready');
};
const long = 'x'.repeat(5000);
const picture = {
  type: 'file',
  mediaType: 'image/png',
  url: `data:image/png;base64,${long}`,
} as const;

test.each([
  ['text', { text: long }],
  ['file', { text: 'Look', files: [picture] }],
] as const)(
  'after a message whose %s is too large, the next message is sent alone, and the refused one has its error',
  async (_name, message) => {
    const endpoint = new ChatEndpoint(['Hello.', 'Yes.']);
    const bodies: string[] = [];
    const fetch: typeof globalThis.fetch = (url, init) => {
      if (init?.method === 'POST') bodies.push(String(init.body));
      return endpoint.fetch(url as string, init);
    };
    const view = mountChat(agentEndpoint('/api/chat', { fetch }), {
      sessionId: crypto.randomUUID(),
    });
    await ready(view);
    await view.chat().sendMessage({ text: 'hello' });
    await ready(view);
    endpoint.bodyLimit = 1000;
    await view.chat().sendMessage(message);
    await expect.poll(() => view.chat().error).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(view.chat().messages.at(-1)?.metadata).toMatchObject({
      error: { code: 'PAYLOAD_TOO_LARGE' },
    });
    await view.chat().sendMessage({ text: 'hello again' });
    await ready(view);
    expect(linesOf(view).slice(-2)).toEqual(['user: hello again', 'assistant: Yes.']);
    expect(bodies.at(-1)).not.toContain(long);
  },
);

test('after a message that a worker refuses, the next message is answered', async () => {
  const worker = new Worker(new URL('../../../web-worker/test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const options: PageFixtureOptions = { replies: ['Yes.'] };
  const sessionId = crypto.randomUUID();
  const view = mountChat(worker, { agent: 'main', sessionId, timeoutMs: 120_000, options });
  await ready(view);
  await view.chat().sendMessage({ text: ' ' });
  const errorOf = () =>
    (view.chat().messages[0]?.metadata as { error?: object } | undefined)?.error;
  await expect.poll(errorOf).toMatchObject({ code: 'INVALID_MESSAGE' });
  await view.chat().sendMessage({ text: 'good' });
  await ready(view);
  expect(linesOf(view)).toEqual(['user:  ', 'user: good', 'assistant: Yes.']);
});

test('a message that a broken network swallowed is sent again with its id, and is stored once', async () => {
  const endpoint = new ChatEndpoint(['Hello.', 'Hello.']);
  let isBroken = true;
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (!isBroken || init?.method !== 'POST') return endpoint.fetch(url as string, init);
    // The endpoint got the message, but the page does not know.
    await endpoint.fetch(url as string, init);
    throw new TypeError('Failed to fetch');
  };
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId: crypto.randomUUID() });
  await ready(view);
  await view.chat().sendMessage({ text: 'hello' });
  isBroken = false;
  await expect.poll(() => endpoint.isRunning).toBe(false);
  await ready(view);
  await view.chat().retry();
  await ready(view);
  expect(linesOf(view)).toEqual(['user: hello', 'assistant: Hello.']);
  expect((await endpoint.agent.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);
});

test('a refused message that is accepted when it is sent again has no error any more', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  endpoint.bodyLimit = 10;
  const { fetch } = endpoint;
  const view = mountChat(agentEndpoint('/api/chat', { fetch }), { sessionId: crypto.randomUUID() });
  await ready(view);
  await view.chat().sendMessage({ text: 'hello', metadata: { own: 1 } });
  await expect.poll(() => view.chat().status).toBe('error');
  expect(view.chat().messages[0]?.metadata).toMatchObject({ own: 1, error: {} });
  endpoint.bodyLimit = Infinity;
  await view.chat().retry();
  await ready(view);
  expect(linesOf(view)).toEqual(['user: hello', 'assistant: Hello.']);
  expect(view.chat().messages[0]?.metadata).toEqual({ own: 1 });
});
