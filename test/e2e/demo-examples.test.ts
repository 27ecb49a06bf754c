import type { JSHandle, Page } from 'playwright';
import { expect, test } from 'vitest';
import { answers, atRest, goHome, openDemo, questions, timeline } from './open-demo.ts';

test('the example of a plan ticks off one task after the other, and shows no list twice', async () => {
  const { page, problems } = await openDemo();
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

test('the example of an object fills its fields one after the other', async () => {
  const { page, problems } = await openDemo();
  // At the fast pace, all fields fill between two frames.
  await page.getByLabel('As slow as a model').check();
  await atRest(page);
  await page.getByRole('button', { name: 'Read an invitation into a form' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('status', { name: 'Bring' }).waitFor();
  const seen = await watchFields(page);
  await dialog.getByRole('button', { name: 'Read it into the form' }).click();
  await expect
    .poll(() => dialog.getByRole('status', { name: 'Bring' }).innerText())
    .toContain('olive oil');
  expect(await dialog.locator('output').allInnerTexts()).toEqual([
    'Dora',
    'Friday',
    '19:30',
    'Ana, Ben, Chika',
    'bread, two lemons, olive oil',
  ]);
  const filled = await seen.evaluate((texts) => texts.map((text) => text.split('…').length - 1));
  // Fewer and fewer fields are empty, and not all fill at once.
  expect(filled).toEqual(filled.toSorted((a, b) => b - a));
  expect(new Set(filled).size).toBeGreaterThan(2);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Conversations' }).click();
  await page.getByText('No conversation is stored.').waitFor();
  expect(problems).toEqual([]);
});

/** Collects what the fields of the form show. */
function watchFields(page: Page): Promise<JSHandle<string[]>> {
  return page.evaluateHandle(() => {
    const texts: string[] = [];
    const form = document.querySelector('.filled')!;
    new MutationObserver(() => texts.push(form.textContent)).observe(form, {
      subtree: true,
      childList: true,
      characterData: true,
    });
    return texts;
  });
}

test('the example of a long history leaves its oldest messages out of the request', async () => {
  const { page, problems } = await openDemo();
  await page.getByText('More', { exact: true }).click();
  await page.getByRole('button', { name: /^Open a diary/ }).click();
  await timeline(page).getByText('Ended: stop').waitFor();
  await timeline(page)
    .getByText(/^\d+ messages left out$/)
    .first()
    .waitFor();
  // The page and the log still have all of them.
  expect(await questions(page).count()).toBe(81);
  expect(await answers(page).last().innerText()).toContain('In Tokyo it is');
  expect(problems).toEqual([]);
});

test('the example of a page tool asks the page, which only the worker can do', async () => {
  const { page } = await openDemo();
  await page.getByText('More', { exact: true }).click();
  await page.getByRole('button', { name: 'How large is my window?' }).click();
  await expect
    .poll(() => answers(page).last().innerText())
    .toContain('Your window is 1280 pixels wide and 800 high.');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await goHome(page, 'At the edge');
  await page.getByText('More', { exact: true }).click();
  expect(await page.getByRole('button', { name: 'How large is my window?' }).count()).toBe(0);
});

test('each example shows the lines of code behind it', async () => {
  const { page } = await openDemo();
  await page.getByText('More', { exact: true }).click();
  const codes = page.locator('.patterns > li pre');
  const lines = await codes.evaluateAll((all) =>
    all.map((code) => code.textContent.split('\n').length),
  );
  expect(lines).toHaveLength(await page.locator('.patterns > li').count());
  for (const count of lines) expect(count).toBeLessThanOrEqual(14);
});
