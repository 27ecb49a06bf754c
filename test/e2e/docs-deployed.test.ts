import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { htmlFolder } from '../../scripts/docs/site-folders.ts';
import { newContext } from './browser.ts';
import { startEdgeServer, type EdgeServer } from './edge-server.ts';

/** What `npm run deploy` uploads, without the demo's page. */
const assets = mkdtempSync(join(tmpdir(), 'isoloop-deployed-'));
let live: EdgeServer;
let demo: EdgeServer;

beforeAll(async () => {
  cpSync(htmlFolder, `${assets}/docs`, { recursive: true });
  const health = '/docs/live/frame.html';
  live = await startEdgeServer({ assets, config: 'wrangler.live.toml', health });
  demo = await startEdgeServer({ assets, vars: { LIVE_ORIGIN: live.url } });
});
afterAll(async () => {
  await Promise.all([live?.stop(), demo?.stop()]);
  rmSync(assets, { recursive: true, force: true });
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
  const page = await (await newContext()).newPage();
  // A Worker without the variable `LIVE_ORIGIN` answers so.
  await page.route('**/docs/live/origin.json', (route) => route.fulfill({ json: {} }));
  await page.goto(`${demo.url}/docs/concepts/`);
  const example = page.locator('live-example').first();
  await example.getByText('This server only shows its examples.').waitFor();
  expect(await example.getByRole('button', { name: 'Run' }).count()).toBe(0);
});

test('with an origin of their own they run there, and this origin serves nothing else', async () => {
  const page = await (await newContext()).newPage();
  await page.goto(`${demo.url}/docs/concepts/`);
  const example = page.locator('live-example').first();
  await example.getByRole('button', { name: 'Run' }).click();
  await example.getByRole('status').getByText('done').waitFor();
  expect(page.frames().map((frame) => new URL(frame.url()).origin)).toContain(live.url);
  expect((await fetch(`${live.url}/docs/`)).status).toBe(404);
  const frame = await fetch(`${live.url}/docs/live/frame.html?connect=http://127.0.0.1:1/v1`);
  expect(frame.headers.get('content-security-policy')).toContain('connect-src http://127.0.0.1:1');
});
