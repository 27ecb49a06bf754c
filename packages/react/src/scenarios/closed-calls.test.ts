import { tool } from '@isoloop/core';
import { closeOpenCalls } from '@isoloop/core/approval';
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
const lines = ['user: go', 'assistant: here output-denied', 'user: Tea', 'assistant: Tea, then.'];

test('a new message denies an open approval of a worker once, in its page, in another one and after a reload', async () => {
  const worker = new Worker(new URL('../../../web-worker/test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const options: PageFixtureOptions = {
    replies: [{ toolCalls: [{ name: 'here' }] }, 'Tea, then.'],
    needsApproval: ['here'],
    database: 'isoloop',
  };
  const open = (): MountedChat =>
    mountChat(worker, { agent: 'main', sessionId, timeoutMs: 120_000, options });
  const sessionId = crypto.randomUUID();
  const view = open();
  await ready(view);
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  await view.chat().sendMessage({ text: 'Tea' });
  await ready(view);
  expect(linesOf(view)).toEqual(lines);
  const [, denied] = view.chat().messages;
  expect(denied!.parts.at(-1)).toMatchObject({
    type: 'tool-here',
    approval: { approved: false, reason: 'the user wrote a new message instead of deciding' },
  });
  view.unmount();
  const reloaded = open();
  await expect.poll(() => linesOf(reloaded)).toEqual(lines);
  // What the page showed live is what it shows after a reload.
  expect(reloaded.chat().messages[1]!.parts).toEqual(denied!.parts);
});

test('a new message to an endpoint ends an open call of the page once, in its page and in another one', async () => {
  const color = tool({ name: 'color', description: 'Asks for a color', input: { type: 'object' } });
  const asks = { toolCalls: [{ name: 'color' }] };
  const { fetch } = new ChatEndpoint([asks, 'Tea, then.'], {
    tools: [color],
    use: [closeOpenCalls()],
  });
  const sessionId = crypto.randomUUID();
  const views = ['/api/chat', new URL('/api/chat', location.href).href].map((api) =>
    mountChat(agentEndpoint(api, { fetch }), { sessionId }),
  );
  for (const view of views) await ready(view);
  await views[0]!.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(views[1]!)[1]).toBe('assistant: color input-available');
  await views[0]!.chat().sendMessage({ text: 'Tea' });
  const ended = ['user: go', 'assistant: color output-error', 'user: Tea', 'assistant: Tea, then.'];
  for (const view of views) await expect.poll(() => linesOf(view)).toEqual(ended);
});
