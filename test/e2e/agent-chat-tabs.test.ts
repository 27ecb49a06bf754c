import type { Page } from 'playwright';
import { expect, test } from 'vitest';
import {
  asks,
  begun,
  counted,
  openChat,
  ready,
  send,
  shown,
  status,
  statuses,
  type Chat,
} from './agent-chat-pages.ts';

/** Tabs use `useAgentChat` with workers: one for each tab, or one for all. */
const places = ['worker', 'shared'] as const;

/** Lets the answers to `count` go on after their third words, in all workers. */
async function release({ id }: Chat, page: Page): Promise<void> {
  await page.evaluate((session) => new BroadcastChannel('release').postMessage(session), id);
}

async function openTwo(at: (typeof places)[number]) {
  const chat = await openChat(at);
  const other = await chat.another();
  await ready(other);
  return { chat, one: chat.page, other };
}

test.for(places)(
  '%s: two tabs show one conversation, and the second says that the first has asked',
  async (at) => {
    const { chat, one, other } = await openTwo(at);
    await send(one, 'count');
    await expect.poll(() => shown(other)).toEqual(begun);
    await expect.poll(() => status(other)).toBe('other-tab');
    expect(await status(one)).toBe('streaming');
    await release(chat, one);
    for (const page of [one, other]) {
      await expect.poll(() => shown(page)).toEqual(counted);
      await ready(page);
    }
    await send(other, 'hello');
    for (const page of [one, other]) {
      await expect.poll(() => shown(page)).toHaveLength(4);
      await ready(page);
    }
    expect(await statuses(one)).toContain('other-tab');
    for (const page of [one, other]) expect(await statuses(page)).not.toContain('continuing');
  },
);

test('shared: a tab stops the answer that another tab has asked for', async () => {
  const { one, other } = await openTwo('shared');
  await send(one, 'count');
  await expect.poll(() => status(other)).toBe('other-tab');
  await expect.poll(() => shown(other)).toEqual(begun);
  await other.evaluate(() => window.agentChat.stop());
  for (const page of [one, other]) {
    await ready(page);
    expect(await shown(page)).toEqual(begun);
  }
});

test('after the crash of the answering tab, the other tab continues the answer and says so', async () => {
  const { chat, one, other } = await openTwo('worker');
  await send(one, 'count');
  await expect.poll(() => status(other)).toBe('other-tab');
  await expect.poll(() => shown(other)).toEqual(begun);
  await one.evaluate(() => window.crash());
  await expect.poll(() => statuses(other)).toContain('continuing');
  await release(chat, other);
  await expect.poll(() => shown(other)).toEqual(counted);
  await ready(other);
  await other.reload();
  await ready(other);
  expect(await shown(other)).toEqual(counted);
});

test('a tab whose own worker has crashed shows the error', async () => {
  const { page } = await openChat('worker');
  await send(page, 'count');
  await expect.poll(() => shown(page)).toEqual(begun);
  await page.evaluate(() => window.crash());
  await expect.poll(() => status(page)).toBe('error');
  expect(await page.evaluate(() => Object(window.agentChat.error).code)).toBe('WORKER_TERMINATED');
});

test('shared: after a reload, the page continues the answer and says so', async () => {
  const chat = await openChat('shared');
  await send(chat.page, 'count');
  await expect.poll(() => shown(chat.page)).toEqual(begun);
  await chat.page.reload();
  await expect.poll(() => status(chat.page)).toBe('continuing');
  await release(chat, chat.page);
  await expect.poll(() => shown(chat.page)).toEqual(counted);
  await ready(chat.page);
});

test('worker: after a reload, a page approves, denies, and approves with other arguments', async () => {
  const { page } = await openChat('worker');
  const answer = async (): Promise<string | undefined> => (await shown(page)).at(-1);
  const ask = async (): Promise<void> => {
    await send(page, 'remove it');
    await asks(page, 1);
    await page.reload();
    await asks(page, 1);
    expect(await page.evaluate(() => window.agentChat.approvals[0]!.input)).toEqual({
      place: 'Seoul',
    });
  };
  const done = 'assistant | remove output-available removed | It is removed.';
  await ask();
  await page.evaluate(() => window.agentChat.approvals[0]!.approve());
  await expect.poll(() => answer()).toBe(done);
  await expect.poll(() => page.evaluate(() => window.toolRuns)).toHaveLength(1);
  await ask();
  await page.evaluate(() => window.agentChat.approvals[0]!.deny('not today'));
  await expect
    .poll(() => answer())
    .toMatch(/^assistant \| remove output-denied not today \| It is /);
  expect(await page.evaluate(() => window.toolRuns)).toEqual([]);
  await ask();
  await page.evaluate(() => window.agentChat.approvals[0]!.edit({ place: 'Busan' }));
  await expect.poll(() => answer()).toBe(done);
  await ready(page);
  expect(await page.evaluate(() => window.toolRuns)).toEqual([
    { name: 'remove', input: { place: 'Busan' } },
  ]);
  const all = await shown(page);
  await page.reload();
  await ready(page);
  expect(await shown(page)).toEqual(all);
});
