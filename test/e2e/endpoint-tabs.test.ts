import type { BrowserContext, Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { begun, counted, openChat, ready, send, shown } from './agent-chat-pages.ts';

/** Tabs of one browser show a conversation of an endpoint, over HTTP/1.1. */

/** Hides or shows a page as the browser does when the user switches tabs. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, value: hidden });
    const visibilityState = hidden ? 'hidden' : 'visible';
    Object.defineProperty(document, 'visibilityState', {
      configurable: true,
      value: visibilityState,
    });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
}

/** Opens a conversation in this number of tabs. `pages[0]` is visible. */
async function openTabs(count: number, areHidden: boolean) {
  const chat = await openChat('/do');
  const pages = [chat.page];
  while (pages.length < count) {
    const page = await chat.another();
    await ready(page);
    pages.push(page);
  }
  if (areHidden) for (const page of pages.slice(1)) await setHidden(page, true);
  return { id: chat.id, pages, asked: requestsOf(chat.page.context()) };
}

/** Returns a list that grows with each request for the endpoint. */
function requestsOf(context: BrowserContext): readonly string[] {
  const requests: string[] = [];
  context.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.includes('/api/')) requests.push(`${request.method()} ${pathname}`);
  });
  return requests;
}

/** Opens another conversation in the same browser. */
async function openAnother(context: BrowserContext): Promise<{ id: string; page: Page }> {
  const id = crypto.randomUUID();
  const page = await context.newPage();
  await page.goto(`${inject('chatUrl')}/agent?at=/do&id=${id}`);
  await ready(page);
  return { id, page };
}

/** Lets the answer to `count` go on after its third word. */
async function release(id: string): Promise<void> {
  await fetch(`${inject('chatUrl')}/release/${id}`, { method: 'POST' });
}

async function answered(pages: readonly Page[], count: number): Promise<void> {
  for (const page of pages) {
    await expect.poll(async () => (await shown(page)).length).toBe(2 * count);
    await ready(page);
  }
}

test.for([1, 2, 5, 10])(
  'a message costs the same number of requests with %i tabs',
  async (count) => {
    const { pages, asked } = await openTabs(count, false);
    for (const turn of [1, 2, 3]) {
      await send(pages[turn % count]!, `Hello ${turn}`);
      await answered(pages, turn);
    }
    expect(asked.length / 3).toBe(2);
  },
);

test('ten tabs show an answer as it is written, and each of them can stop it', async () => {
  const { pages, asked } = await openTabs(10, false);
  await send(pages[0]!, 'count');
  for (const page of pages) await expect.poll(() => shown(page)).toEqual(begun);
  expect(asked.filter((request) => request.startsWith('GET'))).toEqual([]);
  await pages[9]!.evaluate(() => window.agentChat.stop());
  for (const page of pages) await ready(page);
  for (const page of pages) expect(await shown(page)).toEqual(begun);
});

test('when the tab that reads is closed or hidden, another tab reads on', async () => {
  const { id, pages, asked } = await openTabs(4, false);
  const [sender, second, third, fourth] = pages as [Page, Page, Page, Page];
  await setHidden(fourth, true);
  await send(sender, 'count');
  for (const page of pages) await expect.poll(() => shown(page)).toEqual(begun);
  await sender.close();
  await expect.poll(() => asked.filter((request) => request.endsWith('/stream')).length).toBe(1);
  await setHidden(second, true);
  await setHidden(third, true);
  await setHidden(second, false);
  await setHidden(third, false);
  await release(id);
  for (const page of [second, third, fourth]) {
    await expect.poll(() => shown(page)).toEqual(counted);
    await ready(page);
  }
});

test('answers in six hidden tabs leave connections to the visible tab, and are read on later', async () => {
  const first = await openChat('/do');
  const context = first.page.context();
  const chats: { readonly id: string; readonly page: Page }[] = [first];
  while (chats.length < 6) chats.push(await openAnother(context));
  for (const { page } of chats) {
    await send(page, 'count');
    await expect.poll(() => shown(page)).toEqual(begun);
    await setHidden(page, true);
  }
  const visible = await openAnother(context);
  await send(visible.page, 'count');
  await expect.poll(() => shown(visible.page)).toEqual(begun);
  await visible.page.evaluate(() => window.agentChat.stop());
  await ready(visible.page);
  for (const { id } of chats) await release(id);
  for (const { page } of chats) {
    await setHidden(page, false);
    await expect.poll(() => shown(page)).toEqual(counted);
    await ready(page);
  }
});
