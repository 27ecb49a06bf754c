import type { BrowserContext, Page } from 'playwright';
import { createServer, type ViteDevServer } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { sourceAlias } from '../../scripts/source-alias.ts';
import type { TabsFixtureOptions } from '../../packages/web-worker/test-support/tabs.ts';
import { newContext } from './browser.ts';
import type { TestTab } from './tabs-page.ts';

let server: ViteDevServer;
beforeAll(async () => {
  const page = {
    name: 'tabs-page',
    configureServer: ({ middlewares }: ViteDevServer): void => {
      middlewares.use('/tab.html', (_request, response) => {
        response.setHeader('content-type', 'text/html');
        response.end(
          '<!doctype html><title>Tab</title><script type="module" src="/test/e2e/tabs-page.ts"></script>',
        );
      });
    },
  };
  server = await createServer({
    configFile: false,
    root,
    cacheDir: `${root}/node_modules/.vite-tabs`,
    resolve: { alias: sourceAlias },
    optimizeDeps: { noDiscovery: true, include: ['comlink', 'idb-keyval'] },
    worker: { format: 'es' },
    server: { host: '127.0.0.1', port: 0, hmr: false },
    logLevel: 'error',
    plugins: [page],
  });
  await server.listen();
});
afterAll(() => server?.close());

async function openTab(
  context: BrowserContext,
  sessionId: string,
  replies: TabsFixtureOptions['replies'],
  hash = '',
): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${server.resolvedUrls!.local[0]}tab.html${hash}`);
  await page.waitForFunction(() => 'tab' in globalThis);
  await page.evaluate(([id, given]) => tabOf().start(id, given), [
    sessionId,
    JSON.stringify(replies),
  ] as const);
  return page;
}

/** Returns the `TestTab` of the page. Only scripts in a page can call this function. */
declare function tabOf(): TestTab;

const ask = (page: Page): Promise<void> => page.evaluate(() => tabOf().ask('go'));
const reaches = (page: Page, gate: string): Promise<unknown> =>
  page.waitForFunction(
    (name) => tabOf().told.some((told) => 'reached' in told && told.reached === name),
    gate,
  );
const shows = (page: Page, text: string): Promise<unknown> =>
  page.waitForFunction((shown) => tabOf().text === shown, text);
const ends = (page: Page): Promise<unknown> => page.waitForFunction(() => tabOf().ends.length > 0);
const ran = (page: Page): Promise<number> =>
  page.evaluate(() => tabOf().told.filter((told) => 'ran' in told).length);

const cutOff = [
  [{ toolCalls: [{ name: 'note', id: 'n1' }] }],
  [{ text: 'half of ' }, { gate: 'middle', text: 'the old answer' }],
];

async function inTheMiddle(): Promise<{
  readonly leader: Page;
  readonly follower: Page;
}> {
  const sessionId = `e2e-${crypto.randomUUID()}`;
  const context = await newContext();
  await context.addInitScript('globalThis.tabOf = () => globalThis.tab');
  const leader = await openTab(context, sessionId, cutOff);
  const follower = await openTab(context, sessionId, [
    [{ text: 'the new ' }, { gate: 'new', text: 'answer' }],
  ]);
  await ask(leader);
  await reaches(leader, 'middle');
  await shows(follower, 'half of ');
  return { leader, follower };
}

test('when a tab closes during a run, another tab takes over and no tool runs again', async () => {
  const { leader, follower } = await inTheMiddle();
  await leader.close();
  await reaches(follower, 'new');
  await follower.evaluate(() => tabOf().open('new'));
  await ends(follower);
  expect(await follower.evaluate(() => [tabOf().text, tabOf().ends])).toEqual([
    'the new answer',
    ['the new answer'],
  ]);
  expect(await follower.evaluate(() => tabOf().roles())).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ]);
  expect(await ran(follower)).toBe(0);
});

test('another tab takes over when a tab freezes during a run, and the frozen tab shows the new answer after it resumes', async () => {
  const { leader, follower } = await inTheMiddle();
  // Browsers freeze only hidden pages, and a headless browser hides no page. The test therefore
  // dispatches the event that a frozen page gets.
  await leader.evaluate(() => document.dispatchEvent(new Event('freeze')));
  await reaches(follower, 'new');
  await leader.evaluate(() => document.dispatchEvent(new Event('resume')));
  await leader.evaluate(() => tabOf().open('middle'));
  await follower.evaluate(() => tabOf().open('new'));
  for (const page of [leader, follower]) {
    await ends(page);
    expect(await page.evaluate(() => [tabOf().text, tabOf().ends])).toEqual([
      'the new answer',
      ['the new answer'],
    ]);
    expect(await page.evaluate(() => tabOf().roles())).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ]);
  }
  expect([await ran(leader), await ran(follower)]).toEqual([1, 0]);
});

test('a page tool changes the tab that asked, and after a reload a person approves the call, which runs in the reloaded tab', async () => {
  const context = await newContext();
  await context.addInitScript('globalThis.tabOf = () => globalThis.tab');
  const id = crypto.randomUUID();
  const titled = (title: string) => [{ toolCalls: [{ name: 'set_title', input: { title } }] }];
  const replies = [titled('Mine'), 'one', titled('Yours'), 'two', titled('wait'), 'three'];
  const answers = (page: Page) => page.evaluate(() => tabOf().ends.filter(Boolean));
  const first = await openTab(context, id, replies);
  const second = await openTab(context, id, []);
  await ask(second);
  await expect.poll(() => second.title()).toBe('Mine');
  await expect.poll(() => answers(first)).toEqual(['one']);
  await ask(first);
  await expect.poll(() => first.title()).toBe('Yours');
  await expect.poll(() => answers(second)).toEqual(['one', 'two']);

  await ask(second);
  await expect.poll(() => second.title()).toBe('wait');
  await second.goto('about:blank');
  const waits = (page: Page) => page.evaluate(() => tabOf().waits());
  await expect.poll(() => waits(first)).toEqual(['The page that runs the tool is gone.']);
  const back = await openTab(context, id, [], '#back');
  expect(await waits(back)).toEqual(['The page that runs the tool is gone.']);
  await back.evaluate(() => tabOf().approve());
  expect([await back.title(), await first.title()]).toEqual(['wait', 'Yours']);
  await expect.poll(() => answers(first)).toEqual(['one', 'two', 'three']);
});
