/// <reference path="../provider-server/provided-context.d.ts" />
import type { Locator, Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { chooseHeldModel, heldQuestion, release } from './held-answer.ts';
import {
  answers,
  ask,
  atRest,
  chooseModel,
  goHome,
  offlineNotice,
  openDemo,
  questions,
  send,
  timeline,
  waitOffline,
} from './open-demo.ts';

const fail = async (page: Page, text: string): Promise<void> => {
  await send(page, text);
  await page.getByRole('alert').waitFor();
};

test('the page says that it waits while this device is offline, and sends the question when it is online again', async () => {
  const { page } = await openDemo();
  await goHome(page, 'At the edge');
  await ask(page, 'What is 6 * 7?');
  await page.clock.install();
  await page.context().setOffline(true);
  await send(page, 'What is 2 + 2?');
  await waitOffline(page);
  expect(await page.getByRole('alert').allInnerTexts()).toEqual([
    'This device is offline. The page tries again when it is online. Your conversation is kept.',
  ]);
  await page.context().setOffline(false);
  await offlineNotice(page).waitFor({ state: 'detached' });
  await expect.poll(() => answers(page).last().innerText()).toContain('2 + 2 = 4.');
  await page.reload();
  await expect
    .poll(() => questions(page).allInnerTexts())
    .toEqual(['What is 6 * 7?', 'What is 2 + 2?']);
  expect(await answers(page).first().innerText()).toContain('6 * 7 = 42.');
});

test('the page hides the error text of the edge’s own model, and the conversation continues', async () => {
  const { page } = await openDemo();
  await goHome(page, 'At the edge');
  await chooseModel(page, /The edge’s model/);
  await fail(page, 'Who are you?');
  const alert = page.getByRole('alert');
  expect(await alert.innerText()).toContain('The endpoint refused the key.');
  await page.getByText('Details').click();
  expect(await alert.innerText()).not.toContain('Incorrect API key');
  await chooseModel(page, /Offline stand-in/);
  await ask(page, 'What is 2 + 2?');
  expect(await questions(page).allInnerTexts()).toEqual(['Who are you?', 'What is 2 + 2?']);
});

test('the button Try again replaces a broken answer', async () => {
  const { page } = await openDemo();
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

const offlineRules = 'I am the offline';
const notice = (page: Page) => page.getByRole('alert');
const modelButton = (page: Page, name: string) =>
  page.getByRole('button', { name: `Model: ${name}`, exact: true });

test('after a reload the page asks for the model’s key, and nothing else answers meanwhile', async () => {
  const { page, problems } = await openDemo();
  const endpoint = { baseURL: `${inject('providerUrl')}/deltas/3/v1`, key: 'sk-secret' };
  await chooseModel(page, /OpenAI-compatible/, endpoint);
  await ask(page, 'Hello?');
  const answer = (await answers(page).last().innerText()).trim();
  await page.reload();
  await modelButton(page, 'test-model, key needed').waitFor();
  await expect.poll(() => answers(page).allInnerTexts()).toEqual([answer]);
  expect(await notice(page).innerText()).toContain('The key of test-model is gone.');
  expect(await page.getByRole('button', { name: 'Answer again' }).count()).toBe(0);
  const field = page.getByLabel('Your message');
  await field.fill('Are you there?');
  await field.press('Enter');
  expect(await field.inputValue()).toBe('Are you there?');
  expect(await questions(page).allInnerTexts()).toEqual(['Hello?']);

  await notice(page).getByRole('button', { name: 'Choose the model' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByLabel('Base URL').inputValue()).toBe(endpoint.baseURL);
  await dialog.getByLabel('Key', { exact: true }).fill(endpoint.key);
  await dialog.getByRole('button', { name: 'Use this model' }).click();
  await modelButton(page, 'test-model').waitFor();
  await ask(page, 'Are you there?');
  expect(await answers(page).count()).toBe(2);
  expect(await answers(page).last().innerText()).not.toContain(offlineRules);
  const stored = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
  expect(stored).toContain(endpoint.baseURL);
  expect(stored).not.toContain(endpoint.key);
  expect(problems).toEqual([]);
});

test('an answer that a reload cut off waits for the key, and then continues with the same model', async () => {
  const { page } = await openDemo();
  const endpoint = { baseURL: `${inject('heldModelUrl')}/v1`, key: 'sk-secret' };
  await chooseModel(page, /OpenAI-compatible/, endpoint);
  const question = heldQuestion();
  await send(page, question);
  await expect.poll(() => answers(page).count()).toBe(1);
  await page.reload();
  await notice(page).waitFor();
  await release(question);
  await chooseModel(page, /OpenAI-compatible/, endpoint);
  await expect.poll(() => answers(page).last().innerText()).toContain('top of the page');
  expect(await questions(page).allInnerTexts()).toEqual([question]);
  expect(await answers(page).count()).toBe(1);
});

test('after a reload a model without a key goes on', async () => {
  const { page } = await openDemo();
  await chooseModel(page, /OpenAI-compatible/, {
    baseURL: `${inject('providerUrl')}/deltas/3/v1`,
  });
  await ask(page, 'Hello?');
  await page.reload();
  await modelButton(page, 'test-model').waitFor();
  await page.getByRole('button', { name: 'Answer again' }).click();
  await timeline(page).getByText('Ended: stop').waitFor({ state: 'attached' });
  await expect.poll(() => answers(page).count()).toBe(1);
  expect(await answers(page).last().innerText()).not.toContain(offlineRules);
});

test('the page keeps the keyboard focus after a dialog, after an example question and after sending', async () => {
  const { page } = await openDemo();
  await page.getByRole('button', { name: /^Model: / }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Use this model' }).press('Enter');
  await focused(modelButton(page, 'stand-in'));
  await page.getByText('More', { exact: true }).click();
  await page
    .getByRole('button', { name: 'Work out 12 * (3 + 4) and note the result' })
    .press('Enter');
  await expect
    .poll(() => answers(page).last().innerText())
    .toContain('Noted: “12 * (3 + 4) = 84.”');
  await focused(page.getByRole('log', { name: 'Messages' }));
  await atRest(page);
  await page.getByLabel('Your message').fill('Tell me about the history of tea');
  await page.keyboard.press('Tab');
  await focused(page.getByRole('button', { name: 'Send' }));
  await page.keyboard.press('Enter');
  await expect.poll(() => questions(page).count()).toBe(2);
  await focused(page.getByLabel('Your message'));
  await atRest(page);
  await focused(page.getByLabel('Your message'));
});

test.each(['it is pressed', 'the answer ends'] as const)(
  'the keyboard focus goes from Stop to the message field when %s',
  async (cause) => {
    const { page } = await openDemo();
    await chooseHeldModel(page, 'In this tab’s worker');
    const question = heldQuestion();
    await send(page, question);
    await focused(page.getByLabel('Your message'));
    await page.keyboard.press('Tab');
    const stop = page.getByRole('button', { name: 'Stop' });
    await focused(stop);
    if (cause === 'it is pressed') await page.keyboard.press('Enter');
    else await release(question);
    await expect.poll(() => stop.count()).toBe(0);
    await focused(page.getByLabel('Your message'));
    await release(question);
  },
);

async function focused(element: Locator): Promise<void> {
  await expect.poll(() => element.evaluate((it) => it === document.activeElement)).toBe(true);
}
