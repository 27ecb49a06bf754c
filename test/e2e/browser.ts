/// <reference path="../provided-context.d.ts" />
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
} from 'playwright';
import { inject } from 'vitest';

/** Timeout of any page action, in milliseconds. It only detects a hang. */
const timeoutMs = 120_000;

/** Connects to the shared Chromium. Closing the connection closes only its own contexts. */
export function connectBrowser(): Promise<Browser> {
  return chromium.connect(inject('browserEndpoint'), { timeout: timeoutMs });
}

/** Creates a browser profile. */
export async function newContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(timeoutMs);
  return context;
}
