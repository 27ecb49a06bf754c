/// <reference path="../provider-server/provided-context.d.ts" />
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  answers,
  ask,
  atRest,
  chooseModel,
  goHome,
  homes,
  launchBrowser,
  openDemo,
  questions,
  startDemoServer,
  timeline,
  type DemoServer,
} from './demo-server.ts';

let server: DemoServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startDemoServer(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test.for(homes)('%s: two tools, a streamed answer, the timeline, and the history after a reload', async (home) => {
  const { page, problems } = await openDemo(browser, server.url);
  await goHome(page, home);
  const seen = watchAnswer(page);
  await ask(page, 'What is 17 * 23, and what time is it in Tokyo?');
  const answer = answers(page).last();
  await expect.poll(() => answer.innerText()).toMatch(/17 \* 23 = 391\.\s+In Tokyo it is \d\d:\d\d on \w+day\./);
  expect(await seen(), 'the answer came in pieces').toBeGreaterThan(1);
  expect(await page.getByRole('group', { name: 'Tool calculator, done' }).innerText()).toContain('391');
  expect(await page.getByRole('group', { name: 'Tool time_in_city, done' }).innerText()).toContain('Asia/Tokyo');
  const events = await timeline(page).getByRole('listitem').allInnerTexts();
  const labels = events.map((event) => event.split('\n')[0]);
  expect(labels.slice(0, 3)).toEqual(['Run started', 'Reasoning, step 1', 'Calls 2 tools']);
  expect(labels.slice(-3)).toEqual(['Reasoning, step 2', 'Answered', 'Ended: stop']);
  const before = await page.getByRole('log', { name: 'Messages' }).innerText();

  await page.reload();
  await answers(page).first().waitFor();
  expect(await page.getByRole('log', { name: 'Messages' }).innerText()).toBe(before);
  await ask(page, 'Note: buy milk');
  await ask(page, 'Show my notes');
  expect(await answers(page).last().innerText()).toContain('1. buy milk');
  expect(problems).toEqual([]);
});

/** How many different texts the last answer had on its way. */
function watchAnswer(page: Page): () => Promise<number> {
  const texts = page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const seen = new Set<string>();
        const look = (): void => {
          const text = [...document.querySelectorAll('.message.assistant > p')].at(-1)?.textContent;
          if (text) seen.add(text);
          if (text?.endsWith('day.')) resolve(seen.size);
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
  return () => texts;
}

test('Japanese, Chinese and Korean questions are answered in their language, and notes survive', async () => {
  const { page } = await openDemo(browser, server.url);
  await ask(page, '東京とパリは今何時ですか？');
  expect(await answers(page).last().innerText()).toMatch(/東京は.曜日の\d\d:\d\dです。\s*パリは.曜日の\d\d:\d\dです。/);
  await ask(page, '记一下：明天给妈妈打电话');
  expect(await answers(page).last().innerText()).toContain('已记下：“明天给妈妈打电话”。');
  await ask(page, '(48 + 72) / 5는 얼마예요?');
  expect(await answers(page).last().innerText()).toContain('= 24입니다.');
  await page.reload();
  await answers(page).first().waitFor();
  await ask(page, 'メモを見せて');
  expect(await answers(page).last().innerText()).toContain('1. 明天给妈妈打电话');
});

test.for(homes)('%s: what is deleted is asked for first, also after a reload, and the question can be asked again', async (home) => {
  const { page, problems } = await openDemo(browser, server.url);
  const call = page.getByRole('group', { name: /^Tool notes/ }).last();
  const decide = (word: 'Allow' | 'Deny') => call.getByRole('button', { name: word });
  await goHome(page, home);
  await ask(page, 'Note: oolong');
  await ask(page, 'Delete my notes about oolong');
  await page.reload();
  await decide('Deny').click();
  await expect.poll(() => answers(page).last().innerText()).toContain('All right, it stays as it is.');
  await atRest(page);
  await page.getByRole('button', { name: 'Answer again' }).click();
  await decide('Allow').click();
  await expect.poll(() => answers(page).last().innerText()).toContain('Deleted: “oolong”.');
  await atRest(page);
  // Somebody who asks something else has not said yes.
  await ask(page, 'Note: sencha');
  await ask(page, 'Delete my notes about sencha');
  await ask(page, 'Show my notes');
  expect(await answers(page).last().innerText()).toContain('. sencha');
  expect(await questions(page).count()).toBe(5);
  expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
  expect(problems).toEqual([]);
});

test('the theme tool changes the page, and a reload keeps it without applying history again', async () => {
  const { page } = await openDemo(browser, server.url, { colorScheme: 'light' });
  const theme = () => page.evaluate(() => document.documentElement.dataset['theme']);
  expect(await theme()).toBe('light');
  await ask(page, 'Dark mode, please');
  await expect.poll(theme).toBe('dark');
  await page.getByRole('button', { name: 'Switch light and dark' }).click();
  await expect.poll(theme).toBe('light');
  await page.reload();
  await answers(page).first().waitFor();
  expect(await theme()).toBe('light');
});

test.for(homes)('%s: Stop ends the run at once and keeps what was said; the conversation goes on', async (home) => {
  const { page } = await openDemo(browser, server.url);
  await goHome(page, home);
  await page.getByLabel('Your message').fill('Tell me about the history of tea');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('I am the offline').first().waitFor();
  await page.keyboard.press('Escape');
  await timeline(page).getByText('Ended: aborted').waitFor();
  const kept = await answers(page).last().innerText();
  expect(kept).not.toContain('top of the page');
  await ask(page, 'What is 2 + 2?');
  await page.reload();
  await expect.poll(() => answers(page).allInnerTexts()).toHaveLength(2);
  const [first, second] = await answers(page).allInnerTexts();
  expect(first!.startsWith('I am the offline')).toBe(true);
  expect(first).not.toContain('top of the page');
  expect(second).toContain('2 + 2 = 4.');
});

test.for([
  ['a wrong key', '/fault/401/v1', 'refused the key'],
  ['a reply that is no event stream', '/fault/html/v1', 'not an answer of a chat-completions endpoint'],
  ['a reply that is no JSON', '/fault/bad-json/v1', 'not an answer of a chat-completions endpoint'],
  ['a server that fails', '/fault/500/v1', 'The endpoint failed'],
  ['an endpoint that is down', 'down', 'can’t be reached'],
] as const)('%s is told in plain words, and the conversation goes on with another model', async ([, path, words]) => {
  const { page } = await openDemo(browser, server.url);
  await ask(page, 'What is 6 * 7?');
  await chooseEndpoint(page, path === 'down' ? 'http://127.0.0.1:1/v1' : `${inject('providerUrl')}${path}`);
  await ask(page, 'Hello?');
  const alert = page.getByRole('alert');
  await expect.poll(() => alert.innerText()).toContain(words);
  expect(await alert.innerText()).toContain('Your conversation is kept.');
  expect(await page.content()).not.toContain('sk-secret');

  await chooseEndpoint(page, `${inject('providerUrl')}/deltas/3/v1`);
  await ask(page, 'And now?');
  expect(await questions(page).allInnerTexts()).toEqual(['What is 6 * 7?', 'Hello?', 'And now?']);
  expect(await answers(page).count()).toBe(2);
});

test('a full disk is told in plain words, and the conversation goes on when there is room again', async () => {
  const { page } = await openDemo(browser, server.url);
  const devtools = await page.context().newCDPSession(page);
  // Chromium remembers how much room there was when it opened the database.
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: server.url, quotaSize: 400_000 });
  await page.reload();
  await ask(page, 'What is 6 * 7?');
  await ask(page, 'never mind '.repeat(60_000));
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('storage is full');
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: server.url });
  await ask(page, 'What is 5 * 5?');
  await page.reload();
  await expect.poll(() => answers(page).last().innerText()).toContain('25');
  expect(await answers(page).first().innerText()).toContain('42');
});

test('Try again asks the same question once more', async () => {
  const { page } = await openDemo(browser, server.url);
  await chooseEndpoint(page, 'http://127.0.0.1:1/v1');
  await ask(page, 'Anybody there?');
  await page.getByRole('alert').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect.poll(() => timeline(page).getByText('Ended: error').count()).toBe(2);
  expect(await questions(page).allInnerTexts()).toEqual(['Anybody there?']);
});

test('a real endpoint’s tool calls run in the worker', async () => {
  const { page } = await openDemo(browser, server.url);
  await chooseEndpoint(page, `${inject('providerUrl')}/scripted/v1`);
  await ask(page, 'Go');
  expect(await page.getByRole('group', { name: /^Tool / }).count()).toBe(2);
  expect((await answers(page).last().innerText()).length).toBeGreaterThan(0);
});

async function chooseEndpoint(page: Page, baseURL: string): Promise<void> {
  await chooseModel(page, /OpenAI-compatible/, { baseURL, key: 'sk-secret-0123456789' });
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('sk-secret');
}

test('what is written and not sent stays when another model, another home or a new conversation is chosen', async () => {
  const { page } = await openDemo(browser, server.url);
  const field = page.getByLabel('Your message');
  await ask(page, 'What is 6 * 7?');
  await field.fill('And what is');
  await chooseEndpoint(page, `${inject('providerUrl')}/deltas/3/v1`);
  expect(await field.inputValue()).toBe('And what is');
  await goHome(page, 'At the edge');
  expect(await field.inputValue()).toBe('And what is');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await atRest(page);
  expect(await field.inputValue()).toBe('And what is');
  await field.press('Enter');
  await questions(page).first().waitFor();
  expect(await field.inputValue()).toBe('');
});

test('a conversation that is left takes nothing any more', async () => {
  const { page } = await openDemo(browser, server.url);
  // Before anything else can happen in the page: a message sent here would be lost with the connection.
  const left = await page.evaluate(async () => {
    const field = document.querySelector('textarea')!;
    document.querySelector<HTMLElement>('[aria-label="New conversation"]')!.click();
    await Promise.resolve();
    return !field.isConnected;
  });
  expect(left).toBe(true);
});

test('on a phone the timeline is a tab, and nothing is wider than the screen', async () => {
  const { page } = await openDemo(browser, server.url, { viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true });
  await page.getByRole('button', { name: '東京とパリは今何時ですか？' }).tap();
  await expect.poll(() => answers(page).last().innerText()).toMatch(/パリは.*です。/);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  await page.getByRole('button', { name: 'Timeline' }).tap();
  await timeline(page).getByText('Ended: stop').waitFor();
  expect(await page.getByLabel('Your message').isVisible()).toBe(false);
});

test('Enter that ends an input method’s composition does not send', async () => {
  const { page } = await openDemo(browser, server.url);
  const field = page.getByLabel('Your message');
  await field.fill('東京');
  await field.dispatchEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true });
  expect(await field.inputValue()).toBe('東京');
  await field.press('Shift+Enter');
  expect(await field.inputValue()).toBe('東京\n');
});
