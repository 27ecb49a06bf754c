import { connectAgent, followAgent, type WorkerChatTransport } from '@isoloop/web-worker';
import type { ChatTransport, UIMessage } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { PlainChat } from '../../test-support/plain-chat.ts';
import type { PageFixtureOptions } from '../../test-support/page.ts';

function startWorker() {
  const worker = new Worker(new URL('../../test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const sessionId = crypto.randomUUID();
  const connect = (options: PageFixtureOptions) =>
    connectAgent(worker, { timeoutMs: 120_000, agent: 'main', sessionId, options });
  return { worker, connect };
}

function textsOf(chat: PlainChat): readonly string[] {
  return chat.messages.map(
    ({ role, parts }) =>
      `${role}: ${parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}`,
  );
}

test('a chat shows the run of another tab that begins before the chat has read its own to the end', async () => {
  const { connect } = startWorker();
  const options = { replies: ['One.', 'Two.'] };
  const [agent, other] = [connect(options), connect(options)];
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const transport: WorkerChatTransport = agent.chatTransport();
  const held: ChatTransport<UIMessage> = {
    ...transport,
    sendMessages: async (request) =>
      (await transport.sendMessages(request)).pipeThrough(
        new TransformStream({ flush: () => opened }),
      ),
  };
  const chat = new PlainChat({ transport: held });
  onTestFinished(followAgent(agent, chat));
  await agent.uiMessages();
  const sending = chat.sendMessage({ text: 'first' });
  await expect.poll(() => textsOf(chat).at(-1)).toBe('assistant: One.');
  await other.call('second');
  // The chat's page has the events of the second run before this answer.
  await agent.uiMessages();
  expect(chat.status).toBe('streaming');
  open();
  await sending;
  await expect
    .poll(() => textsOf(chat))
    .toEqual(['user: first', 'assistant: One.', 'user: second', 'assistant: Two.']);
});

test('a chat that mounts again while its continued run ends shows the whole answer', async () => {
  const { worker, connect } = startWorker();
  const agent = connect({ replies: ['One.'], gated: true });
  const answer = agent.call('first');
  for await (const { type } of agent.watch()) if (type === 'pre-reasoning') break;
  const stale = [...(await agent.uiMessages())] as UIMessage[];
  worker.postMessage({ open: true });
  await answer;
  // AI SDK's own `resume` finds no run, and cannot replace the messages.
  const transport: ChatTransport<UIMessage> = agent.chatTransport();
  const alone = new PlainChat({ transport, messages: stale });
  await alone.resumeStream();
  expect(textsOf(alone)).toEqual(['user: first']);
  const chat = new PlainChat({ transport, messages: stale });
  onTestFinished(followAgent(agent, chat));
  await expect.poll(() => textsOf(chat)).toEqual(['user: first', 'assistant: One.']);
});
