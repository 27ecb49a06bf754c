/// <reference path="../provider-server/provided-context.d.ts" />
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  answers,
  ask,
  atRest,
  chooseModel,
  goHome,
  homes,
  launchBrowser,
  openDemo,
  openTab,
  questions,
  send,
  startDemoServer,
  timeline,
  type DemoServer,
} from './demo-server.ts';

let server: DemoServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startDemoServer(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** Two tabs of one browser, with one conversation that has begun. */
async function openTwo(home: (typeof homes)[number], begin = 'What is 1 + 1?'): Promise<{ first: Page; second: Page; problems: string[] }> {
  const { page: first, problems } = await openDemo(browser, server.url);
  await goHome(first, home);
  await ask(first, begin);
  const second = await openTab(first.context(), server.url, problems);
  await atRest(second);
  await expect.poll(() => questions(second).allInnerTexts()).toEqual([begin]);
  return { first, second, problems };
}

const shows = async (pages: readonly Page[], wanted: readonly string[]): Promise<void> => {
  for (const page of pages) await expect.poll(() => questions(page).allInnerTexts()).toEqual(wanted);
};
const lastAnswer = (page: Page): Promise<string> => answers(page).last().innerText();
const speech = 'Tell me about the history of tea';

test.for(homes)('%s: what one tab asks is shown in the other as it comes, and stopped there', async (home) => {
  const { first, second, problems } = await openTwo(home);
  await ask(first, 'What is 17 * 23, and what time is it in Tokyo?');
  await shows([second], ['What is 1 + 1?', 'What is 17 * 23, and what time is it in Tokyo?']);
  await expect.poll(() => lastAnswer(second)).toMatch(/17 \* 23 = 391\.\s+In Tokyo it is/);
  await timeline(second).getByText('Calls 2 tools').waitFor();
  await timeline(second).getByText('Ended: stop').waitFor();
  await atRest(second);
  expect(await answers(second).count()).toBe(2);

  await send(first, speech);
  await second.getByText('I am the offline').first().waitFor();
  expect(await first.getByRole('button', { name: 'Stop' }).count()).toBe(1);
  await second.getByRole('button', { name: 'Stop' }).click();
  await timeline(first).getByText('Ended: aborted').waitFor();
  await atRest(first);
  const kept = await lastAnswer(first);
  expect(kept).not.toContain('top of the page');
  await expect.poll(() => lastAnswer(second)).toBe(kept);

  await ask(second, 'What is 2 + 2?');
  await expect.poll(() => lastAnswer(first)).toContain('2 + 2 = 4.');
  const all = ['What is 1 + 1?', 'What is 17 * 23, and what time is it in Tokyo?', speech, 'What is 2 + 2?'];
  await shows([first, second], all);
  for (const page of [first, second]) expect(await answers(page).count()).toBe(4);
  expect(problems).toEqual([]);
});

test.for(homes)('%s: what waits for an answer does so in both tabs, and either gives it', async (home) => {
  const { first, second, problems } = await openTwo(home, 'Note: oolong');
  for (const [asking, answering, word, said] of [
    [first, second, 'Deny', 'All right, it stays as it is.'],
    [second, first, 'Allow', 'Deleted: “oolong”.'],
  ] as const) {
    await ask(asking, 'Delete my notes about oolong');
    await answering.getByRole('button', { name: word }).click();
    for (const page of [first, second]) {
      await expect.poll(() => lastAnswer(page)).toContain(said);
      await atRest(page);
      expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
    }
  }
  for (const page of [first, second]) expect(await answers(page).count()).toBe(3);
  expect(problems).toEqual([]);
});

test.for(homes)('%s: a tab that is closed in the middle of its answer leaves it to the other', async (home) => {
  const { first, second, problems } = await openTwo(home, 'Note: sencha');
  await send(first, speech);
  await second.getByText('I am the offline').first().waitFor();
  await first.close();
  await expect.poll(() => lastAnswer(second)).toContain('top of the page');
  await timeline(second).getByText('Ended: stop').waitFor();
  await atRest(second);
  expect(
    await timeline(second)
      .getByText(/Step started over/)
      .count(),
  ).toBe(home === 'At the edge' ? 0 : 1);
  expect(await answers(second).count()).toBe(2);
  await ask(second, 'Show my notes');
  expect(await lastAnswer(second)).toContain('. sencha');
  await second.reload();
  await shows([second], ['Note: sencha', speech, 'Show my notes']);
  expect(problems).toEqual([]);
});

test.for(homes)('%s: a tab that is opened in the middle of an answer shows it, and asks on when it has ended', async (home) => {
  const { page: first, problems } = await openDemo(browser, server.url);
  await goHome(first, home);
  await send(first, speech);
  await first.getByText('I am the offline').first().waitFor();
  const second = await openTab(first.context(), server.url, problems);
  await expect.poll(() => lastAnswer(second)).toContain('top of the page');
  await ask(second, 'What is 2 + 2?');
  await expect.poll(() => lastAnswer(first)).toContain('2 + 2 = 4.');
  for (const page of [first, second]) expect(await answers(page).count()).toBe(2);
  expect(problems).toEqual([]);
});

/** Sends a message now, or when there is nothing to be stopped first: what is written stays until then. */
async function askAtOnce(page: Page, text: string): Promise<void> {
  const field = page.getByLabel('Your message');
  await field.fill(text);
  await expect
    .poll(async () => {
      await field.press('Enter');
      return field.inputValue();
    })
    .toBe('');
}

test.for(homes)('%s: two tabs that ask at the same time both show both, in one order', async (home) => {
  const { first, second, problems } = await openTwo(home);
  await Promise.all([askAtOnce(first, 'What is 6 * 7?'), askAtOnce(second, 'What is 5 * 5?')]);
  const said = async (page: Page): Promise<string> => (await page.getByRole('article').allInnerTexts()).join('\n');
  for (const page of [first, second]) {
    await expect.poll(() => said(page)).toContain('6 * 7 = 42.');
    await expect.poll(() => said(page)).toContain('5 * 5 = 25.');
  }
  await expect.poll(async () => (await said(first)) === (await said(second))).toBe(true);
  for (const page of [first, second]) expect(await page.getByRole('article').count()).toBe(6);
  expect(problems).toEqual([]);
});

test.for(homes)('%s: a new conversation in one tab leaves the other its own, also with an answer that is under way', async (home) => {
  const { first, second, problems } = await openTwo(home);
  await send(first, speech);
  await second.getByText('I am the offline').first().waitFor();
  await second.getByRole('button', { name: 'New conversation' }).click();
  await second.getByRole('heading', { name: /Ask something/ }).waitFor();
  await expect.poll(() => lastAnswer(first)).toContain('top of the page');
  await ask(second, 'What is 6 * 7?');
  await first.reload();
  await shows([first], ['What is 1 + 1?', speech]);
  await second.reload();
  await shows([second], ['What is 6 * 7?']);
  const third = await openTab(first.context(), server.url, problems);
  await third.getByRole('article').first().waitFor();
  expect(problems).toEqual([]);
});

test('At the edge: what was said elsewhere is shown when the page is looked at again', async () => {
  const { page } = await openDemo(browser, server.url);
  await goHome(page, 'At the edge');
  await ask(page, 'What is 6 * 7?');
  const settings = await page.evaluate(() => JSON.stringify(localStorage));
  // Another browser: nothing but the edge is shared.
  const context = await browser.newContext();
  await context.addInitScript((stored) => Object.assign(localStorage, JSON.parse(stored)), settings);
  const other = await openTab(context, server.url, []);
  await ask(other, 'What is 5 * 5?');
  expect(await questions(page).count()).toBe(1);
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await expect.poll(() => lastAnswer(page)).toContain('5 * 5 = 25.');
  await send(other, speech);
  await other.getByText('I am the offline').first().waitFor();
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await timeline(page).getByText('Ended: stop').nth(1).waitFor();
  expect(await lastAnswer(page)).toContain('top of the page');
  await shows([page, other], ['What is 6 * 7?', 'What is 5 * 5?', speech]);
});

test('tabs of one conversation agree on the model, whichever has the agent, and the key is written nowhere', async () => {
  const { first, second, problems } = await openTwo('In this tab’s worker');
  const model = (page: Page) => page.getByRole('button', { name: 'Model: test-model' });
  await chooseModel(second, /OpenAI-compatible/, { baseURL: `${inject('providerUrl')}/deltas/3/v1`, key: 'sk-secret' });
  const third = await openTab(first.context(), server.url, problems);
  for (const page of [first, second, third]) await model(page).waitFor();
  for (const [index, page] of [first, second, third].entries()) {
    await ask(page, 'Hello?');
    for (const each of [first, second, third]) await expect.poll(() => answers(each).count()).toBe(index + 2);
    expect(await lastAnswer(page)).not.toContain('I am the offline');
  }
  expect(await first.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).not.toContain('sk-secret');
  await first.getByRole('button', { name: 'New conversation' }).click();
  await chooseModel(first, /Offline rules/);
  await ask(second, 'Hello?');
  await model(second).waitFor();
  expect(await lastAnswer(second)).not.toContain('I am the offline');
  expect(problems).toEqual([]);
});
