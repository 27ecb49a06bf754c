/// <reference path="../provided-context.d.ts" />
import type { Browser, BrowserContextOptions, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectBrowser, newContext } from './browser.ts';

const docs = `${inject('demoUrl')}/docs`;
let browser: Browser;
beforeAll(async () => {
  browser = await connectBrowser();
});
afterAll(() => browser?.close());

interface Opened {
  readonly page: Page;
  /** Errors in the console, and requests to other hosts. */
  readonly problems: string[];
}

async function open(path: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const page = await (await newContext(browser, options)).newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') problems.push(request.url());
  });
  await page.goto(`${docs}${path}`);
  return { page, problems };
}

async function search(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('textbox').fill(words);
}

test('the demo’s server has the documentation at /docs, which needs no other host', async () => {
  const { page, problems } = await open('');
  await page.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor();
  await page
    .getByRole('navigation', { name: 'Main' })
    .getByRole('link', { name: 'Concepts' })
    .click();
  await page.getByRole('heading', { level: 1, name: 'Concepts' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/docs/concepts/');
  expect(problems).toEqual([]);
});

test('a search finds a page', async () => {
  const { page, problems } = await open('/');
  await search(page, 'approval');
  await page.getByRole('link', { name: 'Ask a person for approval' }).first().waitFor();
  expect(problems).toEqual([]);
});

test('the page is dark if the reader’s system is dark', async () => {
  const { page } = await open('/concepts/', { colorScheme: 'dark' });
  const color = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red = 255] = (/\d+/.exec(color) ?? []).map(Number);
  expect(red).toBeLessThan(64);
});

test('each page is also Markdown, and a list of all pages is there for assistants', async () => {
  const markdown = await fetch(`${docs}/concepts.md`);
  expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  expect(await markdown.text()).toMatch(/^# Concepts\n/);
  expect(await (await fetch(`${docs}/llms.txt`)).text()).toContain('(/docs/concepts.md)');
  const skill = await fetch(`${docs}/packages/core/skill.md`);
  expect(await skill.text()).toMatch(/^# Write agents with Isoloop\n/);
  expect((await fetch(`${docs}/no-such-page`)).status).toBe(404);
});
