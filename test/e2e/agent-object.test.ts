import type { UIMessage } from 'ai';
import type { Page } from 'playwright';
import { expect, inject, onTestFinished, test } from 'vitest';
import { newContext } from './browser.ts';

/** Pages use `useAgentObject` with a real endpoint: sessions in KV, and in Durable Objects. */
const url = inject('chatUrl');

const half = '{"note":"one two "}';
const whole = '{"note":"one two three four","done":true}';

async function openPage(at: '/kv' | '/do') {
  const id = `note-${crypto.randomUUID()}`;
  const context = await newContext();
  const problems: string[] = [];
  onTestFinished(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(`${url}/object?at=${at}&id=${id}`);
  await is(page, 'ready', '');
  return { id, page };
}

async function is(page: Page, status: string, object: string): Promise<void> {
  const shown = async (): Promise<readonly string[]> => [
    await page.locator('output').innerText(),
    await page.locator('pre').innerText(),
  ];
  await expect.poll(shown).toEqual([status, object]);
}

async function submit(page: Page): Promise<void> {
  await page.evaluate(() => void window.agentObject.submit('a note'));
}

async function release(id: string): Promise<void> {
  await fetch(`${url}/release/${id}`, { method: 'POST' });
}

async function stored(at: string, id: string): Promise<readonly string[]> {
  const response = await fetch(`${url}${at}/api/chat/${id}/messages`);
  const { messages } = (await response.json()) as { readonly messages: readonly UIMessage[] };
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'text' ? part.text : [])),
  );
}

test('/do: an object grows, and the log has it', async () => {
  const { id, page } = await openPage('/do');
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await submit(page);
  await is(page, 'streaming', half);
  // The model pauses, so the stream now has only signs of life, within the text of the object.
  await moreBytes(page);
  await release(id);
  await is(page, 'ready', whole);
  const body = await (await answered).text();
  expect(body.replaceAll('\n', '')).toBe(whole);
  expect(body).not.toBe(whole);
  await expect.poll(() => stored('/do', id)).toEqual(['a note', whole]);
});

/** Waits until the page gets further bytes of a response. */
async function moreBytes(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const received = new Promise<void>((resolve) =>
    devtools.once('Network.dataReceived', () => resolve()),
  );
  await devtools.send('Network.enable');
  await received;
}

test('a page that is loaded again has the object so far and the rest', async () => {
  const { id, page } = await openPage('/do');
  await submit(page);
  await is(page, 'streaming', half);
  await page.reload();
  await is(page, 'streaming', half);
  await release(id);
  await is(page, 'ready', whole);
  await page.reload();
  await is(page, 'ready', '');
  expect(await stored('/do', id)).toEqual(['a note', whole]);
});

test('a page that is loaded again can stop the object', async () => {
  const { id, page } = await openPage('/do');
  await submit(page);
  await is(page, 'streaming', half);
  await page.reload();
  await is(page, 'streaming', half);
  await page.evaluate(() => window.agentObject.stop());
  await is(page, 'ready', half);
  // The endpoint answers the request to stop before the run has ended.
  const streamStatus = async (): Promise<number> => {
    const answer = await fetch(`${url}/do/api/chat/${id}/stream`);
    await answer.body?.cancel();
    return answer.status;
  };
  await expect.poll(streamStatus).toBe(204);
});

test('in KV, a page that is loaded again has nothing to read on', async () => {
  const { id, page } = await openPage('/kv');
  await submit(page);
  await is(page, 'streaming', half);
  const answered = page.waitForResponse((response) => response.url().endsWith('/stream'));
  await page.reload();
  expect((await answered).status()).toBe(204);
  await is(page, 'ready', '');
  await release(id);
});
