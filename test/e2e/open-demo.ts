/// <reference path="../provided-context.d.ts" />
import type {
  BrowserContext,
  BrowserContextOptions,
  FrameLocator,
  Locator,
  Page,
} from 'playwright';
import { expect, inject } from 'vitest';
import { collectProblems, newContext } from './browser.ts';

export interface DemoPage {
  readonly page: Page;
  /** Errors that the page threw or logged to its console. */
  readonly problems: string[];
}

interface DemoOptions extends BrowserContextOptions {
  /** Address of the server. Default: the demo that all tests share. */
  readonly url?: string;
}

/** Opens the demo in a new browser profile. */
export async function openDemo({ url, ...options }: DemoOptions = {}): Promise<DemoPage> {
  const context = await newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const problems: string[] = [];
  const page = await openTab(context, problems, url);
  await page.getByRole('heading', { name: /Ask something/ }).waitFor();
  return { page, problems };
}

/**
 * Opens the demo in another tab of a profile, with fast tools and answers. Adds the tab's errors to
 * `problems`.
 */
export async function openTab(
  context: BrowserContext,
  problems: string[] = [],
  url: string = inject('demoUrl'),
): Promise<Page> {
  const page = await context.newPage();
  collectProblems(page, problems);
  await page.goto(`${url}/?pace=fast`);
  return page;
}

/** Sends a message and waits for the run to end. */
export async function ask(page: Page, text: string): Promise<void> {
  await atRest(page);
  const before = await ends(page).count();
  await send(page, text);
  await ends(page).nth(before).waitFor({ state: 'attached' });
  await atRest(page);
}

/** Waits until the conversation is idle, sends a message, and waits until it is shown. */
export async function send(page: Page, text: string): Promise<void> {
  await atRest(page);
  const asked = await questions(page).count();
  await sendSoon(page, text);
  await questions(page).nth(asked).waitFor({ state: 'attached' });
}

/**
 * Presses Enter until the message is sent. While an answer runs, the page keeps the text, even if
 * another tab asked the question.
 */
export async function sendSoon(page: Page, text: string): Promise<void> {
  const field = page.getByLabel('Your message');
  await field.fill(text);
  await expect
    .poll(async () => {
      await field.press('Enter');
      return field.inputValue();
    })
    .toBe('');
}

/** Waits until no dialog is open, the conversation is loaded and no answer is running. */
export async function atRest(page: Page): Promise<void> {
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.locator('[role=log][aria-busy=false]').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Send' }).waitFor({ state: 'attached' });
}

/**
 * Waits until the page says that it waits for the network, and then moves its clock by a minute.
 * The clock must be installed before the connection is lost.
 */
export async function waitOffline(page: Page): Promise<void> {
  await offlineNotice(page).waitFor();
  await page.clock.fastForward(60_000);
}

export function offlineNotice(page: Page): Locator {
  return page
    .getByRole('alert')
    .getByText('This device is offline. The page tries again when it is online.');
}

export const homes = ['In this tab’s worker', 'At the edge'] as const;

export async function goHome(page: Page, home: (typeof homes)[number]): Promise<void> {
  const radio = page.getByRole('radio', { name: home });
  await radio.check({ force: true });
  await page.getByRole('heading', { name: /Ask something/ }).waitFor();
  await atRest(page);
  // After a move that has failed, the page goes on in the old place.
  expect(await radio.isChecked()).toBe(true);
}

export interface EndpointChoice {
  readonly baseURL: string;
  readonly key?: string;
}

/** Chooses a model in the dialog and waits until the conversation uses the model. */
export async function chooseModel(
  page: Page,
  name: RegExp,
  endpoint?: EndpointChoice,
): Promise<void> {
  await atRest(page);
  await page.getByRole('button', { name: /^Model: / }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name }).check();
  if (endpoint) {
    await dialog.getByLabel('Base URL').fill(endpoint.baseURL);
    await dialog.getByLabel('Model', { exact: true }).fill('test-model');
    await dialog.getByLabel('Key', { exact: true }).fill(endpoint.key ?? '');
  }
  await dialog.getByRole('button', { name: 'Use this model' }).click();
  await atRest(page);
}

export function questions(page: Page): Locator {
  return page.getByRole('article', { name: 'You' });
}

export function answers(page: Page): Locator {
  return page.getByRole('article', { name: 'Assistant' });
}

export function timeline(page: Page | FrameLocator): Locator {
  return page.getByLabel('Timeline', { exact: true });
}

function ends(page: Page): Locator {
  return timeline(page).getByText(/^Ended: /);
}
