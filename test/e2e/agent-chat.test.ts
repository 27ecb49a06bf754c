import type { AgentError } from '@isoloop/core';
import type { UIMessage } from 'ai';
import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import {
  asks,
  begun,
  counted,
  openChat as openAt,
  ready,
  send,
  shown,
  status,
  statuses,
  type Chat,
} from './agent-chat-pages.ts';

/** Pages use `useAgentChat` with a real endpoint: sessions in KV, and in Durable Objects. */
const places = ['/kv', '/do'] as const;
type Place = (typeof places)[number];

const url = inject('chatUrl');
const openChat = (at: Place): Promise<Chat> => openAt(at);

/** Lets the answer to `count` go on after its third word. */
async function release(id: string): Promise<void> {
  await fetch(`${url}/release/${id}`, { method: 'POST' });
}

async function isRunning(id: string): Promise<boolean> {
  const response = await fetch(`${url}/do/api/chat/${id}/stream`);
  await response.body?.cancel();
  return response.status !== 204;
}

async function stored(at: Place, id: string): Promise<readonly string[]> {
  const response = await fetch(`${url}${at}/api/chat/${id}/messages`);
  const { messages } = (await response.json()) as { readonly messages: readonly UIMessage[] };
  return messages.map(({ role, parts }) =>
    [role, ...parts.map((part) => (part.type === 'text' ? part.text.trim() : ''))]
      .filter(Boolean)
      .join(' | '),
  );
}

const failure = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => (window.agentChat.error as AgentError | undefined)?.code);

test('a page that is loaded during an answer shows each part once, and says that it continues', async () => {
  const { id, page } = await openChat('/do');
  await send(page, 'count');
  await expect.poll(() => shown(page)).toEqual(begun);
  await page.reload();
  await expect.poll(() => shown(page)).toEqual(begun);
  await expect.poll(() => status(page)).toBe('continuing');
  await release(id);
  await expect.poll(() => shown(page)).toEqual(counted);
  await ready(page);
  await page.reload();
  await ready(page);
  expect(await shown(page)).toEqual(counted);
});

test('an answer that ends while a loading page asks for its stream is shown once', async () => {
  const { id, page, another } = await openChat('/do');
  await send(page, 'count');
  await expect.poll(() => shown(page)).toEqual(begun);
  const late = await another((opening) =>
    opening.route(
      '**/stream*',
      async (route) => {
        await release(id);
        await expect.poll(() => isRunning(id)).toBe(false);
        await route.continue();
      },
      { times: 1 },
    ),
  );
  await expect.poll(() => shown(late)).toEqual(counted);
  await ready(late);
  expect(await shown(late)).toEqual(counted);
});

test('an answer that begins while a page loads is shown once', async () => {
  const { id, page, another } = await openChat('/do');
  const late = await another((opening) =>
    opening.route(
      '**/messages',
      async (route) => {
        await send(page, 'count');
        await expect.poll(() => shown(page)).toEqual(begun);
        await route.continue();
      },
      { times: 1 },
    ),
  );
  await expect.poll(() => shown(late)).toEqual(begun);
  await release(id);
  for (const each of [page, late]) {
    await expect.poll(() => shown(each)).toEqual(counted);
    await ready(each);
  }
});

test('stop() in a reloaded page ends the turn at the endpoint, and the next message is answered', async () => {
  const { id, page } = await openChat('/do');
  await send(page, 'count');
  await expect.poll(() => shown(page)).toEqual(begun);
  await page.reload();
  await expect.poll(() => status(page)).toBe('continuing');
  await page.evaluate(() => window.agentChat.stop());
  await ready(page);
  await expect.poll(() => isRunning(id)).toBe(false);
  expect(await stored('/do', id)).toEqual(begun);
  expect(await shown(page)).toEqual(begun);
  await send(page, 'hello');
  await expect.poll(async () => (await shown(page)).at(-1)).toContain('“hello”');
});

test('a second tab shows the answer of the first, says so, and can stop it', async () => {
  const { id, page, another } = await openChat('/do');
  const other = await another();
  await ready(other);
  await send(page, 'count');
  await expect.poll(() => shown(other)).toEqual(begun);
  await expect.poll(() => status(other)).toBe('other-tab');
  expect(await status(page)).toBe('streaming');
  await other.evaluate(() => window.agentChat.stop());
  for (const each of [page, other]) await ready(each);
  expect(await isRunning(id)).toBe(false);
  expect(await statuses(other)).not.toContain('continuing');
});

test.for(places)(
  '%s: a reloaded page approves, denies and edits; arguments that do not fit are refused, and the call waits on',
  async (at) => {
    const { page } = await openChat(at);
    await send(page, 'remove it');
    await asks(page, 1);
    await page.reload();
    await asks(page, 1);
    await page.evaluate(() => window.agentChat.approvals[0]!.edit({ place: 7 }));
    await expect.poll(() => failure(page)).toBe('INVALID_DECISION');
    await asks(page, 1);
    await page.evaluate(() => window.agentChat.approvals[0]!.approve());
    const approved = 'assistant | remove output-available removed | It is removed.';
    await expect.poll(async () => (await shown(page)).at(-1)).toBe(approved);
    await ready(page);
    await asks(page, 0);

    await send(page, 'remove it');
    await asks(page, 1);
    await page.reload();
    await asks(page, 1);
    await page.evaluate(() => window.agentChat.approvals[0]!.deny('not today'));
    await expect
      .poll(async () => (await shown(page)).at(-1))
      .toMatch(/^assistant \| remove output-denied not today \| It is .*not today/);
    await ready(page);

    await send(page, 'remove it');
    await asks(page, 1);
    await page.evaluate(() => window.agentChat.approvals[0]!.edit({ place: 'Busan' }));
    await expect.poll(async () => (await shown(page)).at(-1)).toBe(approved);
    await ready(page);
    const all = await shown(page);
    await page.reload();
    await ready(page);
    expect(await shown(page)).toEqual(all);
    expect(await page.evaluate(() => window.agentChat.messages.at(-1)!.parts)).toContainEqual(
      expect.objectContaining({ type: 'tool-remove', input: { place: 'Busan' } }),
    );
  },
);

test('/do: a page lists, renames, exports, opens and deletes conversations', async () => {
  const { id, page } = await openChat('/do');
  const title = (): Promise<string | undefined> =>
    page.evaluate(
      (own) => window.agentChat.sessions.list?.find((each) => each.sessionId === own)?.title,
      id,
    );
  await send(page, 'hello');
  await expect.poll(() => title()).toBe('hello');
  await ready(page);
  await page.evaluate((own) => window.agentChat.sessions.rename(own, '東京'), id);
  await expect.poll(() => title()).toBe('東京');
  // The conversation goes on from the state that the page knows.
  await send(page, 'again');
  await expect.poll(() => shown(page)).toHaveLength(4);
  await ready(page);
  await expect.poll(() => title()).toBe('東京');
  expect(await page.evaluate((own) => window.agentChat.sessions.export(own), id)).toMatchObject({
    sessionId: id,
    messages: [{}, {}, {}, {}],
  });
  await page.evaluate(() => window.agentChat.sessions.rename('unknown', 'x'));
  await expect.poll(() => failure(page)).toBe('NOT_FOUND');
  await page.evaluate(() => window.agentChat.sessions.open());
  await expect.poll(() => shown(page)).toEqual([]);
  await page.evaluate((own) => window.agentChat.sessions.open(own), id);
  await expect.poll(() => shown(page)).toHaveLength(4);
  await ready(page);
  await page.evaluate((own) => window.agentChat.sessions.delete(own), id);
  await expect.poll(() => shown(page)).toEqual([]);
  await expect.poll(() => title()).toBeUndefined();
  expect(await stored('/do', id)).toEqual([]);
});
