/// <reference path="../provided-context.d.ts" />
import { chromium, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright';
import { inject, onTestFinished } from 'vitest';

/**
 * Timeout of every page action, in milliseconds. It is long, because it only has to detect a page
 * that hangs.
 */
const timeoutMs = 120_000;

/**
 * Creates a browser context, which acts like a new browser profile, in the Chromium that all tests
 * share. It closes when the test ends, because pages that stay open take time from later tests.
 */
export async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const browser = await chromium.connect(inject('browserEndpoint'), { timeout: timeoutMs });
  // Closes only the contexts that this connection has created.
  onTestFinished(() => browser.close());
  const context = await browser.newContext(options);
  context.setDefaultTimeout(timeoutMs);
  return context;
}

/** Adds to `problems` what the page throws or logs as an error, and returns the list. */
export function collectProblems(page: Page, problems: string[] = []): string[] {
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  return problems;
}
