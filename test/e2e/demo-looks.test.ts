/// <reference path="../provider-server/provided-context.d.ts" />
import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';
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

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

function focused(page: Page): Promise<string | undefined> {
  return page.evaluate(() => document.activeElement?.id || document.activeElement?.className);
}

/** Pastes an image into the message field, or drops it on the page. */
function give(page: Page, way: 'paste' | 'drop'): Promise<void> {
  return page.evaluate((type) => {
    const files = new DataTransfer();
    files.items.add(new File(['<svg/>'], 'plan.svg', { type: 'image/svg+xml' }));
    const options = { bubbles: true, cancelable: true };
    const event =
      type === 'paste'
        ? new ClipboardEvent('paste', { ...options, clipboardData: files })
        : new DragEvent('drop', { ...options, dataTransfer: files });
    document.querySelector('textarea')!.dispatchEvent(event);
  }, way);
}

test('the message field has the focus at first, and the first tab stop leads to it', async () => {
  const { page } = await openDemo();
  await expect.poll(() => focused(page)).toBe('question');
  await page.reload();
  await page.getByRole('heading', { name: /Ask something/ }).waitFor();
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.locator('.skip').focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => focused(page)).toBe('question');
});

test('the focus goes back where it came from, and a new conversation waits for a message', async () => {
  const { page } = await openDemo();
  const press = (name: string | RegExp) => page.getByRole('button', { name }).press('Enter');
  const isFocused = async (name: string | RegExp): Promise<void> => {
    await expect
      .poll(() =>
        page.getByRole('button', { name }).evaluate((each) => each === document.activeElement),
      )
      .toBe(true);
  };
  await ask(page, 'What is 6 * 7?');
  await press('Inspect');
  await press('Close');
  await isFocused('Inspect');
  await press('Conversations');
  await press(/^Rename/);
  await page.getByLabel('Title', { exact: true }).press('Escape');
  await isFocused('Rename What is 6 * 7?');
  await press(/^Rename/);
  await page.getByLabel('Title', { exact: true }).fill('A sum');
  await page.getByLabel('Title', { exact: true }).press('Enter');
  await isFocused('Rename A sum');
  await press('Close');
  await press('Two tabs');
  await isFocused('Back to one tab');
  await press('Back to one tab');
  await atRest(page);
  await press('New conversation');
  await expect.poll(() => focused(page)).toBe('question');
});

test('the messages stay in view while the conversation moves', async () => {
  const { page } = await openDemo();
  await ask(page, 'What is 6 * 7?');
  const seen = await page.evaluateHandle(() => {
    const texts = new Set<string>();
    new MutationObserver(() => {
      const words = [...document.querySelectorAll('article')].map((each) => each.textContent);
      texts.add(words.join('; ').includes('6 * 7 = 42.') ? 'shown' : 'gone');
    }).observe(document.body, { subtree: true, childList: true });
    return texts;
  });
  await page.getByRole('radio', { name: 'At the edge' }).check({ force: true });
  await page.getByText('Durable Object 1 at the edge').waitFor();
  await atRest(page);
  expect(await seen.evaluate((texts) => [...texts])).toEqual(['shown']);
});

test('on a phone no keyboard opens by itself, the bar has one line, “More” shows what it opens, and no button covers an approval', async () => {
  const { page } = await openDemo(phone);
  await atRest(page);
  // A focus in the message field opens the keyboard of a phone.
  expect(await focused(page)).not.toBe('question');
  for (const home of homes.toReversed()) {
    await goHome(page, home);
    expect((await page.locator('.stage').boundingBox())!.height).toBeLessThan(56);
  }
  await page.getByText('More', { exact: true }).tap();
  await expect.poll(() => isWithin(page, '.further .patterns > li', '.messages')).toBe(true);
  expect(await page.getByRole('button', { name: 'Jump to latest' }).count()).toBe(0);
  await ask(page, 'What is 17 * 23?');
  await send(page, 'Pay 30 coins to Alice');
  await page.locator('.undecided').getByRole('button', { name: 'Edit' }).tap();
  // Without `force`, a tap on a covered button fails.
  await page.getByRole('button', { name: 'Allow with changes' }).tap({ trial: true });
});

/** Whether the first element of a selector is in the visible part of another one. */
function isWithin(page: Page, inner: string, outer: string): Promise<boolean> {
  return page.evaluate(
    ([one, other]) => {
      const box = document.querySelector(one)!.getBoundingClientRect();
      const around = document.querySelector(other)!.getBoundingClientRect();
      return box.top >= around.top && box.bottom <= around.bottom;
    },
    [inner, outer] as const,
  );
}

test('the end of the conversation stays in view while the message field grows', async () => {
  const { page } = await openDemo({ viewport: { width: 1280, height: 500 } });
  await ask(page, 'How do you survive a killed worker?');
  const left = () =>
    page
      .getByRole('log')
      .evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);
  await expect.poll(left).toBeLessThan(2);
  await page.getByLabel('Your message').fill('line\n'.repeat(8));
  await expect
    .poll(() => page.getByLabel('Your message').evaluate((field) => field.clientHeight))
    .toBeGreaterThan(150);
  await expect.poll(left).toBeLessThan(2);
});

test('from 1024 to 1280 pixels wide, the bar and the header have one line', async () => {
  const { page } = await openDemo();
  for (const width of [1024, 1200, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const selector of ['.stage button', '.header button, .header a']) {
      const tops = await page
        .locator(selector)
        .evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().top)));
      expect(Math.max(...tops) - Math.min(...tops), `${selector} at ${width}`).toBeLessThan(10);
    }
  }
});

test('a definition is in a list of definitions, everything is in a landmark, and targets are not too small', async () => {
  const { page } = await openDemo(phone);
  await page.getByRole('button', { name: /17 \* 23, and/ }).tap();
  await page.getByRole('group', { name: 'Tool calculator, done' }).waitFor();
  await atRest(page);
  expect(await page.locator('dl[role]').count()).toBe(0);
  expect(await page.locator('.views:not(nav)').count()).toBe(0);
  const heights = await page
    .locator('.message-actions button')
    .evaluateAll((all) => all.map((button) => button.getBoundingClientRect().height));
  expect(heights.length).toBeGreaterThan(0);
  for (const height of heights) expect(height).toBeGreaterThanOrEqual(24);
});

test('files that a user pastes or drops go with the message, if the model reads files; else the page says why not', async () => {
  const { page, problems } = await openDemo();
  await atRest(page);
  await give(page, 'drop');
  await page.getByText('The offline model reads no files.').waitFor();
  await chooseModel(page, /OpenAI-compatible/, {
    baseURL: `${inject('providerUrl')}/deltas/3/v1`,
  });
  await give(page, 'paste');
  await page.getByRole('button', { name: 'Remove plan.svg' }).click();
  expect(await page.getByRole('button', { name: 'Send' }).getAttribute('aria-disabled')).toBe(
    'true',
  );
  await give(page, 'drop');
  await page.getByRole('button', { name: 'Remove plan.svg' }).waitFor();
  await give(page, 'paste');
  await expect.poll(() => page.getByRole('button', { name: 'Remove plan.svg' }).count()).toBe(2);
  await page.getByRole('button', { name: 'Send' }).click();
  await expect.poll(() => questions(page).getByRole('img', { name: 'plan.svg' }).count()).toBe(2);
  await answers(page).first().waitFor();
  await atRest(page);
  expect(await page.getByRole('button', { name: /^Remove/ }).count()).toBe(0);
  expect(problems).toEqual([]);
});
