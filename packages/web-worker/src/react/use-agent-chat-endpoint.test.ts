import { agentEndpoint } from '@isoloop/web-worker/react';
import { expect, test } from 'vitest';
import { ChatEndpoint } from '../../test-support/chat-endpoint.ts';
import { linesOf, mountChat, type MountedChat } from '../../test-support/mounted-chat.ts';

const ready = async (view: MountedChat): Promise<void> => {
  await expect.poll(() => view.chat()?.status).toBe('ready');
};

/** Shows the conversation. With another spelling of the address, it is another page's chat. */
function open(
  { fetch }: ChatEndpoint,
  sessionId: string,
  api = '/api/chat',
  listSessions = false,
): MountedChat {
  return mountChat(agentEndpoint(api, { fetch }), { sessionId, listSessions });
}
const sameAddress = new URL('/api/chat', location.href).href;
const half = { deltas: [[{ type: 'text', id: 't', delta: 'half ' }]], hang: true } as const;

test('shows the answer of an endpoint, sends approvals, and lists conversations', async () => {
  const endpoint = new ChatEndpoint([{ toolCalls: [{ name: 'send' }] }, 'Done.', 'Hello.']);
  const view = open(endpoint, crypto.randomUUID(), '/api/chat', true);
  await ready(view);
  await view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => view.chat().approvals).toHaveLength(1);
  await expect(view.chat().approvals[0]!.edit({})).rejects.toMatchObject({
    code: 'INVALID_DECISION',
  });
  await view.chat().approvals[0]!.approve();
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: send output-available sent | Done.');
  await ready(view);
  expect(view.events().some(({ type }) => type === 'post-acting')).toBe(true);
  await expect.poll(() => view.chat().sessions.list).toMatchObject([{ id: 'c', title: 'One' }]);
  await expect(view.chat().sessions.delete('c')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a reloaded page shows the running answer, and stop() ends it at the endpoint', async () => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const before = open(endpoint, id);
  await ready(before);
  void before.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(before)[1]).toBe('assistant: half ');
  const view = open(endpoint, id, sameAddress);
  await expect.poll(() => linesOf(view)).toEqual(['user: go', 'assistant: half ']);
  await expect.poll(() => view.chat().status).toBe('continuing');
  await view.chat().stop();
  await expect.poll(() => endpoint.isRunning).toBe(false);
  for (const each of [before, view]) await ready(each);
});

test('an answer that ends between the requests for the stream and the history is shown once', async () => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const before = open(endpoint, id);
  await ready(before);
  void before.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(before)[1]).toBe('assistant: half ');
  endpoint.beforeHistory = async () => {
    await before.chat().stop();
    await expect.poll(() => endpoint.isRunning).toBe(false);
  };
  const begin = endpoint.requests.length;
  const view = open(endpoint, id, sameAddress);
  await ready(view);
  await expect.poll(() => linesOf(view)).toEqual(['user: go', 'assistant: half ']);
  const [first, second] = endpoint.requests.slice(begin);
  expect([first, second]).toEqual(['GET /api/chat/ID/stream', 'GET /api/chat/ID/messages']);
});

test('another page shows a turn that begins while it is open', async () => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const [one, other] = [open(endpoint, id), open(endpoint, id, sameAddress)];
  for (const view of [one, other]) await ready(view);
  void one.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(other)).toEqual(['user: go', 'assistant: half ']);
  await expect.poll(() => other.chat().status).toBe('other-tab');
  await other.chat().stop();
  for (const view of [one, other]) await ready(view);
});

test('after a lost connection, the page reads the answer on', async () => {
  const [endpoint, id] = [new ChatEndpoint([half]), crypto.randomUUID()];
  const view = open(endpoint, id);
  await ready(view);
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => linesOf(view)[1]).toBe('assistant: half ');
  endpoint.dropClients();
  await expect.poll(() => view.chat().status).toBe('continuing');
  await expect.poll(() => endpoint.requests.includes('GET /api/chat/ID/stream', 3)).toBe(true);
  await view.chat().stop();
  await ready(view);
  expect(linesOf(view)).toEqual(['user: go', 'assistant: half ']);
  expect(view.statuses).not.toContain('error');
});
