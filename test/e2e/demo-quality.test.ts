import axe, { type AxeResults } from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { newContext } from './browser.ts';
import { answers, ask, atRest, goHome, openDemo, send } from './open-demo.ts';

/** Returns the rules of axe that the page breaks now, each with the elements. */
async function violations(page: Page): Promise<readonly string[]> {
  // The page's policy refuses a script element, but not the browser's own console.
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate<AxeResults>('axe.run()');
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

const looks: readonly (readonly [string, BrowserContextOptions, 'ltr' | 'rtl'])[] = [
  ['light', { colorScheme: 'light' }, 'ltr'],
  ['dark', { colorScheme: 'dark' }, 'ltr'],
  ['right to left', { colorScheme: 'light' }, 'rtl'],
  ['320 pixels wide', { viewport: { width: 320, height: 640 } }, 'ltr'],
];

/** All looks have the same elements, so one look finds most faults. */
const audited = inject('long') ? looks : looks.slice(0, 1);

test.for(audited)('axe finds nothing: %s', async ([, options, dir]) => {
  const { page } = await openDemo(options);
  await page.evaluate((value) => (document.documentElement.dir = value), dir);
  await page.getByText('More', { exact: true }).click();
  await page.getByText('Code', { exact: true }).first().click();
  expect(await violations(page)).toEqual([]);
  await ask(page, 'What is 17 * 23, and what time is it in Tokyo?');
  await send(page, 'Pay 30 coins to Alice');
  await page.getByRole('button', { name: 'Edit' }).last().click();
  expect(await violations(page)).toEqual([]);
  for (const name of ['Timeline', 'Log']) {
    const tab = page.getByRole('button', { name, exact: true });
    if (!(await tab.isVisible())) continue;
    await tab.click();
    expect(await violations(page)).toEqual([]);
  }
  const inspect = page.getByRole('button', { name: 'Inspect' });
  if (await inspect.isVisible()) {
    await inspect.click();
    await page.getByLabel('Inspector').getByText('pay').first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Inspector').getByRole('button', { name: 'Close' }).click();
  }
  await page.getByRole('button', { name: /^Model: / }).click();
  await page.getByRole('radio', { name: /OpenAI-compatible/ }).check();
  expect(await violations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
});

test('the console stays empty, and nothing breaks the page’s policy', async () => {
  const context = await newContext();
  const told: string[] = [];
  context.on('console', (message) => told.push(`${message.type()}: ${message.text()}`));
  context.on('weberror', (error) => told.push(error.error().message));
  await context.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, sample }) =>
      console.warn(violatedDirective, sample),
    ),
  );
  const page = await context.newPage();
  await page.goto(`${inject('demoUrl')}/?pace=fast`);
  await ask(page, 'What is 17 * 23?');
  await page.getByRole('button', { name: 'Kill the worker' }).click();
  await ask(page, 'Dark mode, please');
  await page.getByRole('radio', { name: 'At the edge' }).check({ force: true });
  await ask(page, 'What is 6 * 7?');
  await page.getByRole('radio', { name: 'In this tab’s worker' }).check({ force: true });
  await ask(page, 'What is 5 * 5?');
  expect(await answers(page).last().innerText()).toContain('25');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await goHome(page, 'At the edge');
  await atRest(page);
  expect(told).toEqual([]);
});
