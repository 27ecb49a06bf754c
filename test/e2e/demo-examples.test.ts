/// <reference path="../provider-server/provided-context.d.ts" />
import type { Browser } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectBrowser } from './browser.ts';
import { answers, atRest, openDemo, timeline } from './demo-server.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await connectBrowser();
});
afterAll(() => browser?.close());

test('the example of a plan ticks off one task after the other, and shows no list twice', async () => {
  const { page, problems } = await openDemo(browser, inject('demoUrl'));
  await page.getByText('More', { exact: true }).click();
  await page.getByRole('button', { name: /^Plan:/ }).click();
  await timeline(page).getByText('Ended: stop').waitFor();
  await atRest(page);
  const lists = page.getByRole('group', { name: 'Tool write_todos, done' });
  const words = await lists.evaluateAll((all) =>
    all.map((list) =>
      [...list.querySelectorAll('[role=listitem] .visually-hidden')]
        .map((word) => word.textContent)
        .join(''),
    ),
  );
  expect(words).toEqual([
    ', in progress, pending, pending',
    ', completed, in progress, pending',
    ', completed, completed, in progress',
    ', completed, completed, completed',
  ]);
  expect(await answers(page).last().innerText()).toMatch(/= 84\.\s+In Tokyo .*\s+In Cairo/);
  expect(problems).toEqual([]);
});
