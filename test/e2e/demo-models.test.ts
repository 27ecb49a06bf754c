/// <reference path="../provider-server/provided-context.d.ts" />
import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { newContext } from './browser.ts';
import { answers, ask, atRest, chooseModel, openDemo, openTab } from './open-demo.ts';

const key = 'sk-secret-0123456789';

/** Chooses a model whose key the worker keeps. */
async function keepKey(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Model: / }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: /OpenAI-compatible/ }).check();
  await dialog.getByLabel('Base URL').fill(`${inject('providerUrl')}/deltas/3/v1`);
  await dialog.getByLabel('Model', { exact: true }).fill('test-model');
  await dialog.getByLabel('Key', { exact: true }).fill(key);
  await dialog.getByLabel('Keep the key in this browser').check();
  await dialog.getByRole('button', { name: 'Use this model' }).click();
  await atRest(page);
}

/** Sends a message and returns the key that the worker sends with the request. */
async function keyOf(page: Page, text: string): Promise<string | undefined> {
  const request = page.waitForRequest(/chat\/completions/);
  await ask(page, text);
  return (await (await request).allHeaders())['authorization'];
}

/** What the page itself has stored. */
function stored(page: Page): Promise<string> {
  return page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
}

/** Number of keys that the worker has stored. */
function keptKeys(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const opening = indexedDB.open('isoloop-demo-keys');
        opening.addEventListener('success', () => {
          const keys = opening.result.transaction('keys').objectStore('keys').count();
          keys.addEventListener('success', () => resolve(keys.result));
        });
      }),
  );
}

test('a key is kept only on request, by the worker and not by the page, until its owner gives it up', async () => {
  const { page, problems } = await openDemo();
  await keepKey(page);
  expect(await keyOf(page, 'Hello?')).toBe(`Bearer ${key}`);
  expect(await stored(page)).not.toContain(key);
  await page.reload();
  await atRest(page);
  expect(await keyOf(page, 'And now?')).toBe(`Bearer ${key}`);
  await page.getByRole('button', { name: /^Model: / }).click();
  const field = page.getByRole('dialog').getByLabel('Key', { exact: true });
  expect(await field.inputValue()).toBe('');
  expect(await field.getAttribute('placeholder')).toBe('The worker has it');
  expect(await keptKeys(page)).toBe(1);
  await page.getByRole('dialog').getByLabel('Keep the key in this browser').uncheck();
  await page.getByRole('button', { name: 'Use this model' }).click();
  await ask(page, 'And without it?');
  expect(await keptKeys(page)).toBe(0);
  expect(problems).toEqual([]);
});

test('without a model of its own, the browser offers none, and the dialog says what it needs', async () => {
  const context = await newContext();
  // Headless Chromium has the interface, but could load no model.
  await context.addInitScript(() => Reflect.deleteProperty(globalThis, 'LanguageModel'));
  const page = await openTab(context);
  await atRest(page);
  await page.getByRole('button', { name: /^Model: / }).click();
  const choice = page.getByRole('dialog').getByRole('radio', { name: /browser’s own model/ });
  await expect.poll(() => page.getByRole('dialog').innerText()).toContain('This browser has none.');
  expect(await choice.isDisabled()).toBe(true);
});

/** A fake of the Prompt API, which headless Chromium does not have. It calls a tool in text. */
function fakeBrowserModel(): void {
  const session = {
    promptStreaming(input: readonly { readonly content: string }[]) {
      const isResult = input.at(-1)!.content.includes('391');
      const text = isResult
        ? 'The fake browser model says 391.'
        : '{"tool_name": "calculator", "arguments": {"expression": "17 * 23"}}';
      return new ReadableStream<string>({
        start(controller) {
          controller.enqueue(text);
          controller.close();
        },
      });
    },
    destroy() {},
  };
  Object.assign(globalThis, {
    LanguageModel: { availability: async () => 'available', create: async () => session },
  });
}

test('the browser’s own model answers, calls tools as text, and is named (a fake of the Prompt API)', async () => {
  const context = await newContext();
  await context.addInitScript(fakeBrowserModel);
  const problems: string[] = [];
  const tab = await openTab(context, problems);
  await chooseModel(tab, /browser’s own model/);
  await tab.getByText('The browser’s own model answers.').waitFor();
  await ask(tab, 'What is 17 * 23?');
  expect(await tab.getByRole('group', { name: 'Tool calculator, done' }).count()).toBe(1);
  expect(await answers(tab).last().innerText()).toContain('The fake browser model says 391.');
  expect(problems).toEqual([]);
});
