import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { newContext } from './browser.ts';
import { chooseHeldModel, heldQuestion, release } from './held-answer.ts';
import { answers, ask, atRest, goHome, openDemo, openTab, send, waitOffline } from './open-demo.ts';

test('an answer shows as plain text if the part that shows Markdown cannot be loaded', async () => {
  const context = await newContext();
  await context.route(/markdown-text/, (route) => route.abort());
  const page = await openTab(context);
  await ask(page, 'note: **bread**');
  expect(await answers(page).last().innerText()).toContain('Noted: “**bread**”.');
});

test('without a network a killed worker is followed by a new one, from the browser’s cache', async () => {
  const { page } = await openDemo();
  await ask(page, 'What is 6 * 7?');
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Kill the worker' }).click();
  await page.getByText('Worker 2 of this tab').waitFor();
  await ask(page, 'What is 5 * 5?');
  expect(await answers(page).last().innerText()).toContain('5 * 5 = 25.');
});

test('if no worker can be started, the conversation stays in view, and the page tries again when it is online', async () => {
  const { page } = await openDemo();
  await ask(page, 'What is 6 * 7?');
  const context = page.context();
  // A route bypasses the browser's cache.
  await context.route(/agent\.worker/, (route) => route.abort());
  await context.setOffline(true);
  await page.getByRole('button', { name: 'Kill the worker' }).click();
  const alert = page.getByRole('alert');
  await expect.poll(() => alert.innerText()).toContain('This device is offline.');
  expect(await answers(page).count()).toBe(1);
  await context.unroute(/agent\.worker/);
  await context.setOffline(false);
  await alert.waitFor({ state: 'detached' });
  await ask(page, 'What is 5 * 5?');
  expect(await answers(page).last().innerText()).toContain('5 * 5 = 25.');
});

test('without a network the conversation does not move, the page says so, and other parts of it say that they are missing', async () => {
  const { page } = await openDemo();
  await ask(page, 'What is 6 * 7?');
  await page.context().setOffline(true);
  // `check()` fails if the page has already set the choice back.
  await page.getByRole('radio', { name: 'At the edge' }).click({ force: true });
  const alert = page.getByRole('alert');
  await expect.poll(() => alert.innerText()).toContain('The conversation has not moved.');
  await atRest(page);
  expect(await answers(page).count()).toBe(1);
  await page.getByRole('button', { name: 'Inspect' }).click();
  await page.getByText('This part of the page could not be loaded.').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  expect(await answers(page).count()).toBe(1);
});

test('a question that does not reach the edge does not mark the answer before it as continued', async () => {
  const { page } = await openDemo();
  await goHome(page, 'At the edge');
  await ask(page, 'What is 6 * 7?');
  await page.context().setOffline(true);
  await send(page, 'What is 5 * 5?');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  expect(await page.getByText('Continued from the log').count()).toBe(0);
});

test('an answer that was lost for a minute continues when the page is online, and its question is not sent again', async () => {
  const { page } = await openDemo();
  await goHome(page, 'At the edge');
  await chooseHeldModel(page, 'At the edge');
  const speech = heldQuestion();
  await send(page, speech);
  await page.getByText('I am the offline').first().waitFor();
  await page.clock.install();
  await page.context().setOffline(true);
  await killSession(page);
  await waitOffline(page);
  await release(speech);
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(request.url());
  });
  await page.context().setOffline(false);
  await expect.poll(() => answers(page).last().innerText()).toContain('top of the page');
  expect(sent).toEqual([]);
});

/** Ends the Durable Object, because an open stream outlives the network of the page. */
async function killSession(page: Page): Promise<void> {
  const stored = await page.evaluate(() => localStorage.getItem('isoloop-demo')!);
  const { sessions } = JSON.parse(stored) as { readonly sessions: { readonly edge: string } };
  const origin = inject('demoUrl');
  await fetch(`${origin}/api/demo/${sessions.edge}/kill`, { method: 'POST', headers: { origin } });
}

test('browsers keep the files of the page, whose names change with their content', async () => {
  const page = await (await fetch(inject('demoUrl'))).text();
  const script = /src="(\/assets\/[^"]+)"/.exec(page)![1]!;
  const { headers } = await fetch(`${inject('demoUrl')}${script}`);
  expect(headers.get('cache-control')).toContain('immutable');
});
