/// <reference path="../provider-server/provided-context.d.ts" />
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectBrowser } from './browser.ts';
import {
  answers,
  ask,
  atRest,
  chooseModel,
  goHome,
  openDemo,
  questions,
  send,
  timeline,
} from './demo-server.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await connectBrowser();
});
afterAll(() => browser?.close());

const fail = async (page: Page, text: string): Promise<void> => {
  await send(page, text);
  await page.getByRole('alert').waitFor();
};

test('the page keeps the conversation while the edge is unreachable, and Try again sends the question later', async () => {
  const { page } = await openDemo(browser, inject('demoUrl'));
  await goHome(page, 'At the edge');
  await ask(page, 'What is 6 * 7?');
  await page.context().setOffline(true);
  await fail(page, 'What is 2 + 2?');
  expect(await page.getByRole('alert').innerText()).toContain('The edge can’t be reached.');
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect.poll(() => answers(page).last().innerText()).toContain('2 + 2 = 4.');
  await page.reload();
  await expect
    .poll(() => questions(page).allInnerTexts())
    .toEqual(['What is 6 * 7?', 'What is 2 + 2?']);
  expect(await answers(page).first().innerText()).toContain('6 * 7 = 42.');
});

test('the page hides the error text of the edge’s own model, and the conversation continues', async () => {
  const { page } = await openDemo(browser, inject('demoUrl'));
  await goHome(page, 'At the edge');
  await chooseModel(page, /The edge’s model/);
  await fail(page, 'Who are you?');
  const alert = page.getByRole('alert');
  expect(await alert.innerText()).toContain('The endpoint refused the key.');
  await page.getByText('Details').click();
  expect(await alert.innerText()).not.toContain('Incorrect API key');
  await chooseModel(page, /Offline rules/);
  await ask(page, 'What is 2 + 2?');
  expect(await questions(page).allInnerTexts()).toEqual(['Who are you?', 'What is 2 + 2?']);
});

test('the button Try again replaces a broken answer', async () => {
  const { page } = await openDemo(browser, inject('demoUrl'));
  await chooseModel(page, /OpenAI-compatible/, {
    baseURL: `${inject('providerUrl')}/fault/error-event/v1`,
  });
  await fail(page, 'Hello?');
  const broken = [expect.stringContaining('Hello')];
  await expect.poll(() => answers(page).allInnerTexts()).toEqual(broken);
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect.poll(() => timeline(page).getByText('Ended: error').count()).toBe(2);
  await expect.poll(() => answers(page).allInnerTexts()).toEqual(broken);
  expect(await questions(page).allInnerTexts()).toEqual(['Hello?']);
});

test('the page keeps the keyboard focus after a dialog, after an example question and after sending', async () => {
  const { page } = await openDemo(browser, inject('demoUrl'));
  const focused = async (role: 'button' | 'log', name: string): Promise<void> => {
    await expect
      .poll(() =>
        page.getByRole(role, { name }).evaluate((element) => element === document.activeElement),
      )
      .toBe(true);
  };
  await page.getByRole('button', { name: /^Model: / }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Use this model' }).press('Enter');
  await focused('button', 'Model: offline rules');
  await page
    .getByRole('button', { name: 'Work out 12 * (3 + 4) and note the result' })
    .press('Enter');
  await expect
    .poll(() => answers(page).last().innerText())
    .toContain('Noted: “12 * (3 + 4) = 84.”');
  await focused('log', 'Messages');
  await atRest(page);
  await page.getByLabel('Your message').fill('Tell me about the history of tea');
  await page.keyboard.press('Tab');
  await focused('button', 'Send');
  const names = page.evaluate(namesOfFocus, 'Send');
  await page.keyboard.press('Enter');
  expect(await names).toEqual(['Stop', 'Send']);
});

/**
 * Collects the texts of the elements that get the focus, until one has the text `last`. This
 * function runs in the page.
 */
function namesOfFocus(last: string): Promise<readonly string[]> {
  const names: string[] = [];
  return new Promise((resolve) => {
    const look = (): void => {
      const name = document.activeElement?.textContent ?? '';
      if (name !== (names.at(-1) ?? last)) names.push(name);
      if (name === last && names.length) resolve(names);
    };
    new MutationObserver(look).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
}
