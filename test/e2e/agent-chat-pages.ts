/// <reference path="../provided-context.d.ts" />
import type { BrowserContext, Page } from 'playwright';
import { expect, inject, onTestFinished } from 'vitest';
import { newContext } from './browser.ts';

/**
 * Where the agent of the page `chat/agent.html` runs. The paths are endpoints, with sessions in KV
 * and in Durable Objects. `worker` is a worker of each tab, `shared` a SharedWorker.
 */
export type Place = '/kv' | '/do' | 'worker' | 'shared';

export interface Chat {
  readonly id: string;
  readonly page: Page;
  /** Opens the same conversation in another tab, which prepares itself first. */
  another(prepare?: (page: Page) => Promise<unknown>): Promise<Page>;
}

/** Opens a conversation in a new browser profile. Checks at the end that no page has failed. */
export async function openChat(at: Place): Promise<Chat> {
  const id = crypto.randomUUID();
  const context = await newContext();
  const problems: string[] = [];
  onTestFinished(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });
  const another: Chat['another'] = (prepare) =>
    openPage(context, `${inject('chatUrl')}/agent?at=${at}&id=${id}`, problems, prepare);
  const page = await another();
  await ready(page);
  return { id, page, another };
}

async function openPage(
  context: BrowserContext,
  url: string,
  problems: string[],
  prepare?: (page: Page) => Promise<unknown>,
): Promise<Page> {
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // The browser reports each refused request, also those that a test expects.
    const isRefusal = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isRefusal) problems.push(message.text());
  });
  await prepare?.(page);
  await page.goto(url);
  return page;
}

export const status = (page: Page): Promise<string> => page.locator('output').innerText();

export async function ready(page: Page): Promise<void> {
  await expect.poll(() => status(page)).toBe('ready');
}

/** Returns one line per message: its role and its parts. */
export function shown(page: Page): Promise<readonly string[]> {
  return page.getByRole('listitem').allInnerTexts();
}

/** Returns all values of `status`, each time it changed. */
export function statuses(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => window.statuses);
}

export async function send(page: Page, text: string): Promise<void> {
  await page.evaluate((question) => void window.agentChat.sendMessage({ text: question }), text);
}

/** Waits until this number of tool calls waits for the user. */
export async function asks(page: Page, count: number): Promise<void> {
  await expect.poll(() => page.evaluate(() => window.agentChat.approvals.length)).toBe(count);
}

const numbers = Array.from({ length: 40 }, (_, index) => index + 1).join(' ');
/** The answer to `count` while the model waits for `release`, and at its end. */
export const begun = ['user | count', 'assistant | 1 2 3'];
export const counted = ['user | count', `assistant | ${numbers}`];
