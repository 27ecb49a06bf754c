import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { htmlFolder } from '../../scripts/docs/site-folders.ts';
import { startLocalEdge, untilHealthy, type LocalEdge } from '../../scripts/local-edge.ts';
import { connectBrowser, newContext } from './browser.ts';
import { freePort } from './demo-server.ts';

/** What `npm run deploy` uploads, without the demo's page. */
const assets = mkdtempSync(join(tmpdir(), 'isoloop-deployed-'));
let browser: Browser;
let live: LocalEdge;
let demo: LocalEdge;
let demoWithLive: LocalEdge;

beforeAll(async () => {
  cpSync(htmlFolder, `${assets}/docs`, { recursive: true });
  const start = async (name: string, options: object = {}): Promise<LocalEdge> =>
    startLocalEdge({ port: await freePort(), persistTo: `${assets}-${name}`, assets, ...options });
  live = await start('live', { config: 'wrangler.live.toml' });
  demo = await start('demo');
  demoWithLive = await start('with-live', { vars: { LIVE_ORIGIN: live.url } });
  const health = '/docs/live/frame.html';
  [browser] = await Promise.all([
    connectBrowser(),
    untilHealthy(demo),
    untilHealthy(demoWithLive),
    untilHealthy(live, { path: health }),
  ]);
});
afterAll(async () => {
  await Promise.all([browser?.close(), live?.stop(), demo?.stop(), demoWithLive?.stop()]);
  for (const name of ['', '-live', '-demo', '-with-live'])
    rmSync(`${assets}${name}`, { recursive: true, force: true });
});

test('a deployed demo serves the documentation, with the headers of npm start', async () => {
  const page = await fetch(`${demo.url}/docs/concepts/`);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('<h1 id="_top"');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self';");
  expect((await fetch(`${demo.url}/docs`)).url).toBe(`${demo.url}/docs/`);
  const markdown = await fetch(`${demo.url}/docs/concepts.md`);
  expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  const missing = await fetch(`${demo.url}/docs/no-such-page/`);
  expect(missing.status).toBe(404);
  expect(await missing.text()).toContain('<h1');
});

test('without an origin of their own, the examples of a deployed site do not run, and say so', async () => {
  const page = await (await newContext(browser)).newPage();
  await page.goto(`${demo.url}/docs/concepts/`);
  const example = page.locator('live-example').first();
  await example.getByText('This server only shows its examples.').waitFor();
  expect(await example.getByRole('button', { name: 'Run' }).count()).toBe(0);
});

test('with an origin of their own they run there, and this origin serves nothing else', async () => {
  const page = await (await newContext(browser)).newPage();
  await page.goto(`${demoWithLive.url}/docs/concepts/`);
  const example = page.locator('live-example').first();
  await example.getByRole('button', { name: 'Run' }).click();
  await example.getByRole('status').getByText('done').waitFor();
  expect(page.frames().map((frame) => new URL(frame.url()).origin)).toContain(live.url);
  expect((await fetch(`${live.url}/docs/`)).status).toBe(404);
  const frame = await fetch(`${live.url}/docs/live/frame.html?connect=http://127.0.0.1:1/v1`);
  expect(frame.headers.get('content-security-policy')).toContain('connect-src http://127.0.0.1:1');
});
