/// <reference path="../provided-context.d.ts" />
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions } from 'playwright';
import { inject } from 'vitest';

/** How long a page may take for anything; it only detects a hang. Milliseconds. */
const patienceMs = 120_000;

/** A connection of a test file's own to the Chromium that all files share. Closing it closes its contexts. */
export function connectBrowser(): Promise<Browser> {
  return chromium.connect(inject('browserEndpoint'), { timeout: patienceMs });
}

/** A browser profile of its own. */
export async function newContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(patienceMs);
  return context;
}
