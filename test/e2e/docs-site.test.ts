/// <reference path="../provided-context.d.ts" />
import axe, { type AxeResults } from 'axe-core';
import type { BrowserContextOptions, Locator, Page } from 'playwright';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { runCommand } from '../../scripts/run-command.ts';
import { collectProblems, newContext } from './browser.ts';

const docs = `${inject('demoUrl')}/docs`;
interface Opened {
  readonly page: Page;
  /** Errors in the console, and requests to other hosts. */
  readonly problems: string[];
}

async function open(path: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const page = await (await newContext(options)).newPage();
  const problems = collectProblems(page);
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol !== 'blob:' && hostname !== '127.0.0.1') problems.push(request.url());
  });
  await page.goto(`${docs}${path}`);
  return { page, problems };
}

function statusOf(example: Locator, text: string): Promise<void> {
  return example.locator('.live-bar [role=status]').getByText(text, { exact: true }).waitFor();
}

async function search(page: Page, words: string): Promise<void> {
  // The button works when the script of the search has run.
  const opened = (): Promise<boolean> =>
    page.evaluate(() => {
      const dialog = document.querySelector('dialog');
      if (!dialog?.open) document.querySelector<HTMLElement>('button[data-open-modal]')?.click();
      return dialog?.open ?? false;
    });
  await expect.poll(opened).toBe(true);
  await page.getByRole('dialog').getByRole('textbox').fill(words);
}

test('the demo’s server has the documentation at /docs, which needs no other host', async () => {
  const { page, problems } = await open('');
  await page.getByRole('heading', { level: 1, name: 'Isoloop' }).waitFor();
  await page.locator('main').getByRole('link', { name: 'Concepts', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Concepts' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/docs/concepts/');
  const sidebar = page.getByRole('navigation', { name: 'Main' });
  await sidebar.getByRole('link', { name: 'Get started', exact: true }).waitFor();
  expect(problems).toEqual([]);
});

test('the picture of the first page can be stopped, and stands still for those who want that', async () => {
  const { page } = await open('/');
  const image = page.locator('moving-picture img');
  const isMoving = (): Promise<boolean> =>
    image.evaluate((each: HTMLImageElement) => each.currentSrc.endsWith('demo-killed.webp'));
  await expect.poll(isMoving).toBe(true);
  await page.getByRole('button', { name: 'Pause' }).click();
  await expect.poll(isMoving).toBe(false);
  const { page: calm } = await open('/zh/', { reducedMotion: 'reduce' });
  await calm.getByRole('button', { name: '播放' }).waitFor();
});

test('a search finds its pages among the first three', async () => {
  const { page, problems } = await open('/');
  const dialog = page.getByRole('dialog');
  for (const [words, titles] of [
    ['approval', ['Ask a person for approval']],
    ['How do I ask a person for approval, xyzzy?', ['Ask a person for approval']],
    ['CORS', ['Find out what went wrong', 'Questions']],
    ['CORS error', ['Find out what went wrong', 'Questions']],
    ['Content-Security-Policy', ['Browsers']],
    ['evals', ['Evaluate an agent (evals)']],
    ['several processes', ['Stores and what they promise']],
    ['different system prompt for each user', ['Give each user a system prompt']],
    ['long conversation context window full', ['Fit a long conversation into the context window']],
  ] as const) {
    await search(page, words);
    const message = dialog.locator('.pagefind-ui__message');
    await message.getByText(`for ${words}`).waitFor();
    const found = dialog.locator('.pagefind-ui__result-title:not(.pagefind-ui__result-nested *)');
    await expect
      .poll(async () => (await found.allInnerTexts()).slice(0, 3), { message: words })
      .toEqual(expect.arrayContaining([...titles]));
    if (words !== 'CORS') continue;
    // There are few pages, and the heading with this word comes first.
    const first = dialog.locator('.pagefind-ui__result').first();
    await first.getByRole('link', { name: 'Why do I get a CORS error?' }).waitFor();
    expect(parseInt(await message.innerText(), 10)).toBeLessThan(30);
  }
  expect(problems).toEqual([]);
});

test('on a phone, a page has the navigation, the theme and links to the other language and back', async () => {
  const { page } = await open('/', { viewport: { width: 390, height: 800 } });
  for (const [other, address] of [
    ['中文', '/docs/zh/'],
    ['English', '/docs/'],
  ] as const) {
    await page.locator('.sl-menu-button').click();
    const menu = page.locator('#starlight__sidebar');
    await menu.locator('starlight-theme-select select').waitFor();
    await menu.locator('starlight-lang-select select').waitFor();
    // The groups are closed.
    await menu.locator('summary').first().click();
    await menu.locator('a[href$="/concepts/"]').waitFor();
    await page.locator('.sl-menu-button').click();
    await page.locator('main').getByRole('link', { name: other, exact: true }).click();
    await expect.poll(() => new URL(page.url()).pathname).toBe(address);
  }
});

test('a search for Chinese words finds Chinese pages, and so does a search for names on a Chinese page', async () => {
  const { page, problems } = await open('/');
  for (const [words, title] of [
    ['审批', '让人来审批'],
    // From the second search on, this is a Chinese page. This one finds traditional characters.
    ['記憶', '保存对话与恢复运行'],
    ['needsApproval', '让人来审批'],
  ] as const) {
    await search(page, words);
    await page.getByRole('dialog').getByRole('link', { name: title }).first().click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/docs\/zh\//);
  }
  expect(problems).toEqual([]);
});

const pages = [
  ['/', 'light'],
  ['/concepts/', 'light'],
  ['/concepts/', 'dark'],
  ['/reference/core/guards/', 'dark'],
  ['/reference/errors/', 'light'],
  ['/zh/approvals/', 'light'],
] as const;

/** The first two pages have most kinds of elements. */
const audited = inject('long') ? pages : pages.slice(0, 2);

test.for(audited)('axe finds nothing on %s, %s', async ([path, colorScheme]) => {
  const { page } = await open(path, { colorScheme });
  const example = page.locator('live-example').first();
  if ((await example.count()) > 0) {
    const [edit, run, done] = path.startsWith('/zh/')
      ? ['编辑', '运行', '完成']
      : ['Edit', 'Run', 'done'];
    await example.getByRole('button', { name: edit }).click();
    await example.getByRole('button', { name: run }).click();
    await example.getByRole('status').getByText(done).waitFor();
  }
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(
    "axe.run({ rules: { 'label-content-name-mismatch': { enabled: true } } })",
  );
  expect(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`),
  ).toEqual([]);
});

test('the page is dark if the reader’s system is dark', async () => {
  const { page } = await open('/concepts/', { colorScheme: 'dark' });
  const color = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red = 255] = (/\d+/.exec(color) ?? []).map(Number);
  expect(red).toBeLessThan(64);
});

test('an example runs in the reader’s tab, and shows the events of its agent', async () => {
  const { page, problems } = await open('/concepts/');
  const example = page.locator('live-example[name=concepts-loop]');
  await example.getByRole('button', { name: 'Run' }).click();
  await example.getByRole('status').getByText('done').waitFor();
  const output = await example.getByRole('list', { name: 'Output of the example' }).innerText();
  expect(output).toContain('post-acting add: success, 42');
  expect(output).toContain('reasoning-chunk It is 42.');
  await example.getByRole('button', { name: 'Inspect' }).click();
  await example.getByText('calls add').waitFor();
  expect(problems).toEqual([]);
});

test('edited code runs on an origin of its own, without a network, its errors are shown, and it can be stopped', async () => {
  const { page } = await open('/concepts/');
  const example = page.locator('live-example[name=concepts-loop]');
  const output = example.getByRole('list', { name: 'Output of the example' });
  await example.getByRole('button', { name: 'Edit' }).click();
  const code = example.getByRole('textbox', { name: 'Code' });
  await code.fill(
    `const answer: number = 42;
console.log('typed', answer, location.origin);
await fetch('${docs}/').catch(({ name }: Error) => console.log('no network:', name));
console.assert(answer === 41, 'not 41');`,
  );
  await code.press('Control+Enter');
  await output.getByText('not 41').waitFor();
  const text = await output.innerText();
  const [, origin = ''] = /console typed 42 (?:blob:)?(\S+)/.exec(text) ?? [];
  expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(origin).not.toBe(new URL(docs).origin);
  expect(text).toContain('no network: TypeError');
  await code.fill('const = 1;');
  await example.getByRole('button', { name: 'Run' }).click();
  await output.getByText('SyntaxError').waitFor();
  await code.fill("console.log('on it');\nfor (;;);");
  await example.getByRole('button', { name: 'Run' }).click();
  await output.getByText('on it').waitFor();
  await example.getByRole('button', { name: 'Stop' }).click();
  await statusOf(example, 'stopped');
  await example.getByRole('button', { name: 'Reset' }).click();
  await example.getByRole('button', { name: 'Run' }).click();
  await output.getByText('It is 42.').waitFor();
});

test('a reader’s own model server answers in place of the script, with a key that is in no address', async () => {
  const { page, problems } = await open('/concepts/');
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  const example = page.locator('live-example[name=concepts-loop]');
  await example.getByRole('button', { name: 'Edit' }).click();
  await example.getByRole('radio', { name: 'OpenAI-compatible endpoint' }).check();
  await example.getByRole('button', { name: 'Ollama' }).click();
  await example.getByText('OLLAMA_ORIGINS=http://127.0.0.1:').waitFor();
  await example.getByLabel('Base URL').fill(`${inject('providerUrl')}/deltas/3/v1`);
  await example.getByLabel('Key', { exact: true }).fill('sk-of-the-reader');
  await example.getByRole('button', { name: 'Test the connection' }).click();
  await example.getByText(/^It works: \d+ models\.$/).waitFor();
  await example.getByRole('button', { name: 'Run' }).click();
  await statusOf(example, 'done');
  const output = await example.getByRole('list', { name: 'Output of the example' }).innerText();
  expect(output).toContain('run-end stop');
  expect(output).not.toContain('It is 42.');
  expect(output).toContain('An assertion failed.');
  expect(addresses.filter((address) => address.includes('sk-of-the-reader'))).toEqual([]);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('sk-of');
  expect(problems).toEqual([]);
});

test('the browser’s own model answers an example, too', async () => {
  const context = await newContext();
  await context.addInitScript(() => {
    const promptStreaming = (): ReadableStream<string> =>
      new ReadableStream({
        start(controller) {
          controller.enqueue('From the browser.');
          controller.close();
        },
      });
    const create = async () => ({ promptStreaming, destroy() {} });
    Object.assign(globalThis, { LanguageModel: { availability: async () => 'available', create } });
  });
  const page = await context.newPage();
  await page.goto(`${docs}/concepts/`);
  const example = page.locator('live-example[name=concepts-loop]');
  await example.getByRole('button', { name: 'Edit' }).click();
  await example.getByRole('radio', { name: 'The browser’s own model' }).check();
  await example.getByRole('button', { name: 'Run' }).click();
  await statusOf(example, 'done');
  expect(await example.innerText()).toContain('From the browser.');
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

test('the site is not built if the program of a live example fails', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'isoloop-programs-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const check = () => runCommand('node', ['scripts/docs/live/check-programs.ts', folder]);
  const write = (name: string, code: string): Promise<void> =>
    writeFile(`${folder}/${name}.json`, JSON.stringify({ name, code, setup: '', imports: [] }));
  await write('works', "import { tool } from '@isoloop/core';\nconsole.assert(tool);");
  expect(await check()).toEqual({ ok: true, output: '' });
  await write('wrong', 'console.assert(1 > 2, "one is not more");');
  const { ok, output } = await check();
  expect(ok).toBe(false);
  expect(output).toBe(
    'Live examples failed.\nwrong: Error: An assertion failed. one is not more\n',
  );
});

test('the frame of the examples may reach one server at most, and its origin has nothing else', async () => {
  const { origin } = (await (await fetch(`${docs}/live/origin.json`)).json()) as {
    readonly origin: string;
  };
  const reached = async (connect: string): Promise<string | undefined> => {
    const { headers } = await fetch(`${origin}/docs/live/frame.html${connect}`);
    return /connect-src ([^;]*)/.exec(headers.get('content-security-policy') ?? '')?.[1];
  };
  expect(await reached('')).toBe("'none'");
  expect(await reached('?connect=javascript:1')).toBe("'none'");
  expect(await reached('?connect=http://a%3Bsandbox')).toBe("'none'");
  expect(await reached('?connect=http://127.0.0.1:11434/v1;script-src%20*')).toBe(
    'http://127.0.0.1:11434',
  );
  expect((await fetch(`${origin}/docs/`)).status).toBe(404);
});
