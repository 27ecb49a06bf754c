import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type AddressInfo } from 'node:net';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright';
import { chromiumArgs, chromiumPath } from '../../scripts/chromium.ts';
import { startLocalEdge, untilHealthy } from '../../scripts/local-edge.ts';

export interface DemoServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** `wrangler dev` over the built demo, on a free port, with nothing kept from before. */
export async function startDemoServer(): Promise<DemoServer> {
  const folder = await mkdtemp(join(tmpdir(), 'isoloop-e2e-'));
  const edge = startLocalEdge({ port: await freePort(), persistTo: folder });
  await untilHealthy(edge);
  return {
    url: edge.url,
    async stop() {
      await edge.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: [...chromiumArgs] });
}

export interface DemoPage {
  readonly page: Page;
  /** What the page's console reported as errors, and what it threw. */
  readonly problems: string[];
}

/** The demo in a browser profile of its own. */
export async function openDemo(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<DemoPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(url);
  await page.getByRole('heading', { name: /Ask something/ }).waitFor();
  return { page, problems };
}

/** Sends a message and waits for the run to end. */
export async function ask(page: Page, text: string): Promise<void> {
  const before = await ends(page).count();
  await page.getByLabel('Your message').fill(text);
  await page.getByLabel('Your message').press('Enter');
  await ends(page).nth(before).waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Send' }).waitFor();
}

function ends(page: Page): ReturnType<Page['locator']> {
  return page.getByLabel('Timeline', { exact: true }).getByText(/^Ended: /);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
