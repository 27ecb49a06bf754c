/// <reference path="../provider-server/provided-context.d.ts" />
import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { answers, ask, atRest, chooseModel, openDemo, questions, timeline } from './open-demo.ts';

test('the page applies a theme of the theme tool once: after a reload, the user’s later choice stays', async () => {
  const { page } = await openDemo({ colorScheme: 'light' });
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

test.for([
  ['a wrong key', '/fault/401/v1', 'refused the key. Check the key.'],
  ['an endpoint that is down', 'down', 'can’t be reached'],
] as const)(
  'the page explains %s in plain words, and the conversation continues with another model',
  async ([, path, words]) => {
    const { page } = await openDemo();
    await ask(page, 'What is 6 * 7?');
    await chooseEndpoint(
      page,
      path === 'down' ? 'http://127.0.0.1:1/v1' : `${inject('providerUrl')}${path}`,
    );
    await ask(page, 'Hello?');
    const alert = page.getByRole('alert');
    await expect.poll(() => alert.innerText()).toContain(words);
    expect(await alert.innerText()).toContain('Your conversation is kept.');
    const address = path === 'down' ? 'http://127.0.0.1:1/v1' : path;
    expect(await alert.getByText(/^Address: /).innerText()).toContain(address);
    expect(await page.content()).not.toContain('sk-secret');
    await alert.getByRole('button', { name: 'Choose the model' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

    await chooseEndpoint(page, `${inject('providerUrl')}/deltas/3/v1`);
    await ask(page, 'And now?');
    expect(await questions(page).allInnerTexts()).toEqual(['What is 6 * 7?', 'Hello?', 'And now?']);
    expect(await answers(page).count()).toBe(2);
  },
);

test('the page explains a full disk in plain words, and the conversation continues once there is space', async () => {
  const { page } = await openDemo();
  const devtools = await page.context().newCDPSession(page);
  // Chromium reads the quota when it opens the database, so the page reloads.
  await devtools.send('Storage.overrideQuotaForOrigin', {
    origin: inject('demoUrl'),
    quotaSize: 400_000,
  });
  await page.reload();
  await ask(page, 'What is 6 * 7?');
  await ask(page, 'never mind '.repeat(60_000));
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('storage is full');
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: inject('demoUrl') });
  await ask(page, 'What is 5 * 5?');
  await page.reload();
  await expect.poll(() => answers(page).last().innerText()).toContain('25');
  expect(await answers(page).first().innerText()).toContain('42');
});

async function chooseEndpoint(page: Page, baseURL: string): Promise<void> {
  await chooseModel(page, /OpenAI-compatible/, { baseURL, key: 'sk-secret-0123456789' });
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('sk-secret');
}

test('the page keeps unsent text when the user chooses another model, another home (worker or edge) or a new conversation', async () => {
  const { page } = await openDemo();
  const field = page.getByLabel('Your message');
  await ask(page, 'What is 6 * 7?');
  await field.fill('And what is');
  await chooseEndpoint(page, `${inject('providerUrl')}/deltas/3/v1`);
  expect(await field.inputValue()).toBe('And what is');
  await page.getByRole('radio', { name: 'At the edge' }).check({ force: true });
  await atRest(page);
  expect(await field.inputValue()).toBe('And what is');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await atRest(page);
  expect(await field.inputValue()).toBe('And what is');
  await field.press('Enter');
  await questions(page).first().waitFor();
  expect(await field.inputValue()).toBe('');
});

test('the page removes the message field as soon as the user leaves a conversation', async () => {
  const { page } = await openDemo();
  // Checks this before any other task of the page runs. A message sent at this time would be lost
  // with the connection.
  const left = await page.evaluate(async () => {
    const field = document.querySelector('textarea')!;
    document.querySelector<HTMLElement>('[aria-label="New conversation"]')!.click();
    await Promise.resolve();
    return !field.isConnected;
  });
  expect(left).toBe(true);
});

test('on a phone the timeline is a tab, and nothing is wider than the screen', async () => {
  const { page } = await openDemo({
    viewport: { width: 375, height: 740 },
    hasTouch: true,
    isMobile: true,
  });
  await page.getByText('More', { exact: true }).tap();
  await page.getByRole('button', { name: '東京とパリは今何時ですか？' }).tap();
  await expect.poll(() => answers(page).last().innerText()).toMatch(/パリは.*です。/);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  await page.getByRole('button', { name: 'Timeline' }).tap();
  await timeline(page).getByText('Ended: stop').waitFor();
  expect(await page.getByLabel('Your message').isVisible()).toBe(false);
});

test('Enter does not send the message if it ends a composition of an input method', async () => {
  const { page } = await openDemo();
  const field = page.getByLabel('Your message');
  await field.fill('東京');
  await field.dispatchEvent('keydown', {
    key: 'Enter',
    isComposing: true,
    bubbles: true,
    cancelable: true,
  });
  expect(await field.inputValue()).toBe('東京');
  await field.press('Shift+Enter');
  expect(await field.inputValue()).toBe('東京\n');
});
