/// <reference path="../provider-server/provided-context.d.ts" />
import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { chooseHeldModel, heldQuestion, release } from './held-answer.ts';
import {
  answers,
  ask,
  atRest,
  chooseModel,
  goHome,
  homes,
  openDemo,
  questions,
  send,
} from './open-demo.ts';

function dialog(page: Page) {
  return page.getByRole('dialog');
}

async function openList(page: Page): Promise<void> {
  await atRest(page);
  await page.getByRole('button', { name: 'Conversations' }).click();
}

test('the list of conversations opens, finds, renames and deletes them', async () => {
  const { page, problems } = await openDemo();
  // The conversations of other tests are in the same list at the edge.
  const name = crypto.randomUUID();
  await ask(page, `First ${name}`);
  await page.getByRole('button', { name: 'New conversation' }).click();
  await ask(page, `Second ${name}`);
  await openList(page);
  const own = dialog(page).locator('.title', { hasText: name });
  await expect.poll(() => own.count()).toBe(2);
  await dialog(page)
    .getByRole('button', { name: `Rename First ${name}` })
    .click();
  await dialog(page).getByLabel('Title', { exact: true }).fill(`Third ${name}`);
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await dialog(page)
    .getByRole('button', { name: `Rename Third ${name}` })
    .waitFor();
  await dialog(page).getByLabel('Search titles').fill(`THIRD ${name}`);
  await expect.poll(() => own.count()).toBe(1);
  await own.click();
  await expect.poll(() => questions(page).allInnerTexts()).toEqual([`First ${name}`]);

  await openList(page);
  await dialog(page)
    .getByRole('button', { name: `Delete Third ${name}` })
    .click();
  await dialog(page).getByRole('button', { name: 'Delete it' }).click();
  await page.getByRole('heading', { name: /Ask something/ }).waitFor();
  await openList(page);
  await expect.poll(() => own.count()).toBe(1);
  expect(await own.innerText()).toContain(`Second ${name}`);
  expect(problems).toEqual([]);
});

test('while a question is edited, Enter sends it, Shift+Enter breaks the line and Escape cancels', async () => {
  const { page } = await openDemo();
  await ask(page, 'What is 6 * 7?');
  const field = page.getByLabel('Edited message');
  const open = async (): Promise<void> => {
    await questions(page).first().hover();
    await page.getByRole('button', { name: 'Edit' }).first().click();
  };
  await open();
  await field.fill('Nothing');
  await field.press('Escape');
  await field.waitFor({ state: 'detached' });
  expect(await questions(page).first().innerText()).toBe('What is 6 * 7?');
  await open();
  await field.fill('What is 5 * 5?');
  await field.press('Shift+Enter');
  expect(await field.inputValue()).toBe('What is 5 * 5?\n');
  await field.press('Enter');
  await expect.poll(() => answers(page).last().innerText()).toContain('5 * 5 = 25.');
  const focused = page.locator('article:focus');
  expect(await focused.innerText()).toContain('What is 5 * 5?');
});

test.for(homes)(
  'a message that is sent during an answer waits, is shown, and can be taken back: %s',
  async (home) => {
    const { page, problems } = await openDemo();
    if (home === 'At the edge') await goHome(page, home);
    await chooseHeldModel(page, home);
    const question = heldQuestion();
    await send(page, question);
    await expect.poll(() => answers(page).last().innerText()).toContain('I am the offline');
    const field = page.getByLabel('Your message');
    const waiting = page.getByRole('list', { name: 'Messages that wait' }).getByRole('listitem');
    for (const [index, text] of ['What is 6 * 7?', 'Not this'].entries()) {
      await field.fill(text);
      await field.press('Enter');
      await expect.poll(() => waiting.count()).toBe(index + 1);
    }
    expect(await field.inputValue()).toBe('');
    await waiting.last().getByRole('button', { name: 'Withdraw' }).click();
    await expect.poll(() => waiting.count()).toBe(1);
    await release(question);
    await expect.poll(() => waiting.count()).toBe(0);
    await expect.poll(() => answers(page).count()).toBe(2);
    await atRest(page);
    expect(await questions(page).allInnerTexts()).toEqual([question, 'What is 6 * 7?']);
    expect(problems).toEqual([]);
  },
);

test.for(homes)(
  'an earlier version of a question and of an answer comes back with what followed it: %s',
  async (home) => {
    const { page, problems } = await openDemo();
    if (home === 'At the edge') await goHome(page, home);
    await ask(page, 'What is 6 * 7?');
    await ask(page, 'What is 2 + 2?');
    await edit(page, 'What is 5 * 5?');
    expect(await answers(page).allInnerTexts()).toEqual([expect.stringContaining('5 * 5 = 25.')]);
    await page.getByRole('button', { name: 'Answer again' }).click();
    const versions = page.getByRole('group', { name: 'Versions of this message' });
    await expect.poll(() => versions.allInnerTexts()).toHaveLength(2);
    expect(await answers(page).count()).toBe(1);

    await versions.first().getByRole('button', { name: 'Previous version' }).click();
    await expect.poll(() => questions(page).allInnerTexts()).toHaveLength(2);
    await atRest(page);
    expect(await answers(page).last().innerText()).toContain('2 + 2 = 4.');
    expect(await versions.count()).toBe(1);
    expect(await versions.innerText()).toContain('1 / 2');
    // The earlier version goes on by itself.
    await ask(page, 'What is 3 + 3?');
    await versions.getByRole('button', { name: 'Next version' }).click();
    await expect.poll(() => questions(page).allInnerTexts()).toEqual(['What is 5 * 5?']);
    await versions.first().getByRole('button', { name: 'Previous version' }).click();
    await expect.poll(() => questions(page).allInnerTexts()).toHaveLength(3);
    expect(problems).toEqual([]);
  },
);

test('a deleted conversation takes its earlier versions with it, and a closed object leaves none', async () => {
  const { page } = await openDemo();
  await page.getByRole('button', { name: 'Read an invitation into a form' }).click();
  await dialog(page).getByRole('button', { name: 'Read it into the form' }).click();
  await dialog(page).getByText('bread, two lemons, olive oil', { exact: true }).waitFor();
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  await ask(page, 'What is 6 * 7?');
  await edit(page, 'What is 5 * 5?');
  await expect.poll(() => sessionsIn(page)).toBe(2);
  await openList(page);
  await dialog(page)
    .getByRole('button', { name: /^Delete / })
    .click();
  await dialog(page).getByRole('button', { name: 'Delete it' }).click();
  await expect.poll(() => sessionsIn(page)).toBe(0);
});

/** Number of sessions in IndexedDB. */
function sessionsIn(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const opening = indexedDB.open('isoloop');
        opening.addEventListener('success', () => {
          const [name] = opening.result.objectStoreNames;
          const keys = opening.result.transaction(name!).objectStore(name!).getAllKeys();
          keys.addEventListener('success', () => {
            opening.result.close();
            resolve(keys.result.filter((key) => String(key).endsWith(':head')).length);
          });
        });
      }),
  );
}

async function edit(page: Page, text: string): Promise<void> {
  await questions(page).first().hover();
  await page.getByRole('button', { name: 'Edit' }).first().click();
  await page.getByLabel('Edited message').fill(text);
  await page.getByRole('button', { name: 'Send again' }).click();
  await expect.poll(() => questions(page).allInnerTexts()).toEqual([text]);
  await atRest(page);
}

test('answers are shown as Markdown (HTML stays text, an image becomes a link), and the Copy button copies it', async () => {
  const { page, problems } = await openDemo({
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const written =
    '**bold** `code` [a](https://a.test) ![b](https://b.test/b.png) <img src=x onerror=alert(1)>';
  await ask(page, `note: ${written}`);
  const answer = answers(page).last();
  expect(await answer.locator('strong').innerText()).toBe('bold');
  expect(await answer.locator('.markdown code').innerText()).toBe('code');
  expect(await answer.locator('img').count()).toBe(0);
  expect(await answer.locator('.markdown').innerText()).toContain('<img src=x');
  const links = answer.locator('.markdown a');
  expect(await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual([
    'https://a.test',
    'https://b.test/b.png',
  ]);
  expect(await links.first().getAttribute('rel')).toBe('noreferrer');
  await answer.hover();
  await page.getByRole('button', { name: 'Copy' }).last().click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`Noted: “${written}”.`);
  expect(problems).toEqual([]);
});

test('the dialog of models has presets, tests the connection and says how to fix it', async () => {
  const { page } = await openDemo();
  await page.getByRole('button', { name: /^Model: / }).click();
  await dialog(page)
    .getByRole('radio', { name: /OpenAI-compatible/ })
    .check();
  await dialog(page).getByRole('button', { name: 'Ollama' }).click();
  expect(await dialog(page).getByLabel('Base URL').inputValue()).toBe('http://127.0.0.1:11434/v1');
  expect(await dialog(page).innerText()).toContain('OLLAMA_ORIGINS');
  const status = dialog(page).getByRole('status');
  const testAt = async (baseURL: string): Promise<void> => {
    await dialog(page).getByLabel('Base URL').fill(baseURL);
    await dialog(page).getByRole('button', { name: 'Test the connection' }).click();
  };
  await testAt('http://127.0.0.1:1/v1');
  await expect.poll(() => status.innerText()).toContain('http://127.0.0.1:1/v1/models can’t be');
  await testAt(`${inject('demoUrl')}/nothing/v1`);
  await expect.poll(() => status.innerText()).toContain('status 404. Check the base URL');
  await testAt(`${inject('demoUrl')}/v1`);
  await expect.poll(() => status.innerText()).toMatch(/^It works: \d+ models\.$/);
});

test('the page says which model answers, and which model has written each answer', async () => {
  const { page } = await openDemo();
  await page.getByText('A stand-in answers').waitFor();
  await chooseModel(page, /OpenAI-compatible/, { baseURL: `${inject('providerUrl')}/deltas/3/v1` });
  await page.getByText('test-model answers.').waitFor();
  expect(await page.getByLabel('As slow as a model').count()).toBe(0);
  await ask(page, 'Hello?');
  await chooseModel(page, /Offline/);
  await ask(page, 'What is 6 * 7?');
  await page.reload();
  await expect.poll(() => page.locator('.written').count()).toBe(2);
  const [first, second] = await page.locator('.written').allInnerTexts();
  expect(second).toBe('offline stand-in');
  expect(first).not.toBe(second);
});
