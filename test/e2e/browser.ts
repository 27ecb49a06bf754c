/// <reference path="../provided-context.d.ts" />
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
} from 'playwright';
import { inject, onTestFinished } from 'vitest';

/**
 * Timeout of every page action, in milliseconds. It is long, because it only has to detect a page
 * that hangs.
 */
const timeoutMs = 120_000;

/**
 * Connects to the Chromium that all tests share. Closing the connection closes only the browser
 * contexts that it has created.
 */
export function connectBrowser(): Promise<Browser> {
  return chromium.connect(inject('browserEndpoint'), { timeout: timeoutMs });
}

/**
 * Creates a browser context, which acts like a new browser profile. It closes when the test ends,
 * because pages that stay open take time from later tests.
 */
export async function newContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  context.setDefaultTimeout(timeoutMs);
  return context;
}
