/// <reference path="../provider-server/provided-context.d.ts" />
import { svelte } from '@sveltejs/vite-plugin-svelte';
import vue from '@vitejs/plugin-vue';
import type { Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { codeBlocks } from '../../scripts/code-blocks.ts';
import { collectProblems, newContext } from './browser.ts';
import { startSite, type Site } from './site.ts';

/** Pages whose code makes one project. The chat of the guide takes the place of the README's. */
const chatPages = [
  'packages/web-worker/README.md',
  ...['react', 'objects', 'vue-and-svelte', 'page-parts', 'worker'].map(
    (name) => `docs/guides/${name}.md`,
  ),
];

/** Files that a reader of the pages has to add to their code. */
const added = {
  'chat-main.tsx': `import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Chat } from './chat.tsx';
createRoot(document.getElementById('root')!).render(<StrictMode><Chat /></StrictMode>);`,
  'vue-main.ts': `import { createApp } from 'vue';
import Chat from './chat.vue';
createApp(Chat).mount('#root');`,
  'svelte-main.ts': `import { mount } from 'svelte';
import Chat from './chat.svelte';
mount(Chat, { target: document.getElementById('root')! });`,
  'vue-endpoint-main.ts': `import { createApp } from 'vue';
import Chat from './endpoint-chat.vue';
createApp(Chat).mount('#root');`,
  'svelte-endpoint-main.ts': `import { mount } from 'svelte';
import Chat from './endpoint-chat.svelte';
mount(Chat, { target: document.getElementById('root')! });`,
  'page-parts-main.ts': `import { agent } from './page-parts.ts';
void agent.call('Call it Example 2.').then(({ text }) => document.body.append(text));`,
};

let site: Site;
beforeAll(async () => {
  const blocks = chatPages.flatMap((path) =>
    codeBlocks(path, 'tsx?|vue|svelte').map(({ file, source }) => [file, source] as const),
  );
  const pages = {
    page: 'page.ts',
    first: 'first-page.ts',
    start: 'start-page.ts',
    chat: 'chat-main.tsx',
    invoice: 'invoice-page.ts',
    'page-parts': 'page-parts-main.ts',
    sessions: 'sessions.ts',
    vue: 'vue-main.ts',
    svelte: 'svelte-main.ts',
    // Only built, because they need an endpoint.
    'vue-endpoint': 'vue-endpoint-main.ts',
    'svelte-endpoint': 'svelte-endpoint-main.ts',
  };
  const files = {
    name: 'readme-pages',
    sources: {
      ...Object.fromEntries(blocks),
      ...renamed('README.md', 'first-'),
      ...renamed('docs/start.md', 'start-'),
      ...added,
    },
    pages,
    plugins: [vue(), svelte({ configFile: false })],
  };
  site = await startSite(files);
});
afterAll(() => site?.stop());

/** Returns the worker and the page of a README as files whose names begin with `prefix`. */
function renamed(path: string, prefix: string): Readonly<Record<string, string>> {
  const wanted = codeBlocks(path).filter(({ file }) => ['worker.ts', 'page.ts'].includes(file));
  return Object.fromEntries(
    wanted.map(({ file, source }) => [
      prefix + file,
      source.replace('./worker.ts', `./${prefix}worker.ts`),
    ]),
  );
}

interface OpenedPage {
  readonly page: Page;
  /**
   * Sets the model's next answers. `by` is a path of the provider server, or the steps of a script.
   */
  answer(by: string | readonly unknown[]): void;
  /** Errors that the page threw or logged to its console. */
  readonly problems: readonly string[];
}

async function newPage(by: string | readonly unknown[]): Promise<OpenedPage> {
  const context = await newContext();
  let answer = by;
  await context.route('http://127.0.0.1:11434/v1/**', async (route) => {
    const model = typeof answer === 'string' ? answer : 'scripted';
    const script = typeof answer === 'string' ? {} : { script: answer };
    const postData = JSON.stringify({ ...(route.request().postDataJSON() as object), ...script });
    await route.continue({
      url: `${inject('providerUrl')}/${model}/v1/chat/completions`,
      postData,
    });
  });
  const page = await context.newPage();
  return { page, problems: collectProblems(page), answer: (next) => void (answer = next) };
}

const open = (page: Page, path: string) => page.goto(`${site.origin}/${path}.html`);
const text = (page: Page) => page.locator('body').innerText();
const sections = (page: Page) => page.locator('section').allInnerTexts();

test('the page on the first screen of the root README shows the answer', async () => {
  const { page, problems } = await newPage(['Hello from the worker.']);
  await open(page, 'first');
  await expect.poll(() => text(page)).toBe('Hello from the worker.');
  expect(problems).toEqual([]);
});

test('the page of docs/start.md calls its tool and streams the answer', async () => {
  const call = { name: 'now', arguments: { timeZone: 'Asia/Tokyo' } };
  const { page, problems } = await newPage([[call], 'It is {results}.']);
  await open(page, 'start');
  await expect.poll(() => text(page)).toMatch(/^It is .*\d:\d\d/);
  expect(problems).toEqual([]);
});

test('the guide’s React page in StrictMode answers two questions and shows them after a reload', async () => {
  const { page, problems } = await newPage(['Good morning.']);
  await open(page, 'chat');
  const hello = page.getByRole('button', { name: 'Say hello' });
  await hello.click();
  await expect.poll(() => sections(page)).toEqual(['Hello!', 'Good morning.']);
  await hello.click();
  const both = ['Hello!', 'Good morning.', 'Hello!', 'Good morning.'];
  await expect.poll(() => sections(page)).toEqual(both);
  await page.reload();
  await expect.poll(() => sections(page)).toEqual(both);
  expect(problems).toEqual([]);
});

test('the guide’s React page keeps the text of a stopped answer and answers the next message', async () => {
  const { page, answer, problems } = await newPage('fault/hang-mid');
  await open(page, 'chat');
  await page.getByRole('button', { name: 'Say hello' }).click();
  await expect.poll(async () => (await sections(page))[1]).toMatch(/\S/);
  const [, said] = await sections(page);
  await page.getByRole('button', { name: 'Stop' }).click();
  answer(['Here again.']);
  await page.getByRole('button', { name: 'Say hello' }).click();
  await expect.poll(() => sections(page)).toEqual(['Hello!', said, 'Hello!', 'Here again.']);
  expect(problems).toEqual([]);
});

test('the guide’s React page asks again for an answer that a reload interrupted', async () => {
  const { page, answer, problems } = await newPage('fault/hang-mid');
  await open(page, 'chat');
  await page.getByRole('button', { name: 'Say hello' }).click();
  await expect.poll(async () => (await sections(page))[1]).toMatch(/\S/);
  answer(['Here again.']);
  await page.reload();
  await expect.poll(() => sections(page)).toEqual(['Hello!', 'Here again.']);
  await expect.poll(() => page.getByRole('button', { name: 'Say hello' }).isEnabled()).toBe(true);
  expect(problems).toEqual([]);
});

test('the guide’s React page shows an error, and the next message works', async () => {
  const { page, answer } = await newPage('fault/401');
  await open(page, 'chat');
  await page.getByRole('button', { name: 'Say hello' }).click();
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').innerText()).toContain('401');
  answer(['Good morning.']);
  await page.reload();
  await expect.poll(() => sections(page)).toContain('Hello!');
});

test('the guide’s page with typed answers gets the value', async () => {
  const call = { name: 'generate_response', arguments: { total: 42, due: '2027-03-01' } };
  const { page, problems } = await newPage([[call], 'done']);
  await open(page, 'invoice');
  await expect.poll(() => text(page)).toMatch(/^42 until .*2027/);
  expect(problems).toEqual([]);
});

test('the README’s page without a framework streams the answer, and its sessions page renames, copies and deletes the conversation', async () => {
  const { page, problems } = await newPage(['Noted.']);
  await open(page, 'page');
  await expect.poll(() => text(page)).toBe('Noted.');
  await open(page, 'sessions');
  const keys = (): Promise<readonly string[]> =>
    page.evaluate(
      () =>
        new Promise((resolve) => {
          const opening = indexedDB.open('isoloop');
          opening.addEventListener('success', () => {
            const reading = opening.result.transaction('values').objectStore('values').getAllKeys();
            reading.addEventListener('success', () => resolve(reading.result as string[]));
          });
        }),
    );
  await expect
    .poll(async () => (await keys()).every((key) => key.includes('notes-copy')))
    .toBe(true);
  expect((await keys()).length).toBeGreaterThan(0);
  expect(problems).toEqual([]);
});

test('the guide’s page with page parts provides the model, a tool, an approval and a hook', async () => {
  const { page, problems } = await newPage([]);
  const logged: string[] = [];
  const asked: string[] = [];
  page.on('console', (message) => logged.push(message.text()));
  page.on('dialog', (dialog) => {
    asked.push(dialog.message());
    void dialog.accept();
  });
  // Adds a fake of the browser's built-in model, which the Chromium of the tests does not have.
  await page.addInitScript(() => {
    const replies = [
      '{"tool_name": "set_title", "arguments": {"title": "Example 2"}}',
      'It is called so.',
    ];
    const promptStreaming = () =>
      new Blob([replies.shift()!]).stream().pipeThrough(new TextDecoderStream());
    const create = async () => ({ promptStreaming, destroy: () => {} });
    Object.assign(globalThis, { LanguageModel: { availability: async () => 'available', create } });
  });
  await open(page, 'page-parts');
  await expect.poll(() => text(page)).toBe('It is called so.');
  expect(await page.title()).toBe('Example 2');
  expect(asked).toEqual(['Run set_title?']);
  expect(logged).toEqual(['set_title success']);
  expect(problems).toEqual([]);
});

test.for(['vue', 'svelte'])(
  'the guide’s %s component shows answers, continues one after a reload, and shows other tabs',
  async (name) => {
    const { page, problems, answer } = await newPage(['One.']);
    await open(page, name);
    const say = (tab: Page): Promise<void> => tab.getByRole('button', { name: 'ready' }).click();
    await say(page);
    await expect.poll(() => sections(page)).toEqual(['Hello!', 'One.']);

    // The page is reloaded before the model has answered.
    let ask = (): void => {};
    const hasAsked = new Promise<void>((resolve) => (ask = resolve));
    await page.context().route('http://127.0.0.1:11434/v1/**', ask, { times: 1 });
    await say(page);
    await hasAsked;
    answer(['Two.']);
    await page.reload();
    await expect.poll(() => sections(page)).toEqual(['Hello!', 'One.', 'Hello!', 'Two.']);

    const other = await page.context().newPage();
    await open(other, name);
    await expect.poll(() => sections(other)).toEqual(['Hello!', 'One.', 'Hello!', 'Two.']);
    answer(['Three.']);
    await say(other);
    for (const tab of [page, other]) {
      await expect.poll(() => sections(tab)).toHaveLength(6);
      await expect.poll(async () => (await sections(tab)).at(-1)).toBe('Three.');
      await tab.getByRole('button', { name: 'ready' }).waitFor();
    }
    expect(problems).toEqual([]);
  },
);
