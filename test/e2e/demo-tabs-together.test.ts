/// <reference path="../provider-server/provided-context.d.ts" />
import type { Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { newContext } from './browser.ts';
import { chooseHeldModel, heldQuestion, release } from './held-answer.ts';
import {
  answers,
  ask,
  atRest,
  chooseModel,
  goHome,
  homes,
  openDemo,
  openTab,
  questions,
  send,
  sendSoon,
  timeline,
} from './open-demo.ts';
import { lastAnswer, openTwo, shows } from './two-tabs.ts';

test.for(homes)(
  '%s: two tabs that ask at the same time show both answers in the same order',
  async (home) => {
    const { first, second, problems } = await openTwo(home);
    await Promise.all([sendSoon(first, 'What is 6 * 7?'), sendSoon(second, 'What is 5 * 5?')]);
    const said = (page: Page): Promise<string[]> => page.getByRole('article').allInnerTexts();
    for (const page of [first, second]) {
      await expect.poll(() => answers(page).count()).toBe(3);
      await expect.poll(async () => (await said(page)).join()).toContain('6 * 7 = 42.');
      await expect.poll(async () => (await said(page)).join()).toContain('5 * 5 = 25.');
    }
    for (const page of [first, second]) await atRest(page);
    await expect
      .poll(async () => (await said(first)).join('\n') === (await said(second)).join('\n'))
      .toBe(true);
    for (const page of [first, second]) expect(await said(page)).toHaveLength(6);
    expect(problems).toEqual([]);
  },
);

test('In this tab’s worker: a new conversation in one tab does not change the other tab, even during an answer', async () => {
  const { first, second, problems } = await openTwo('In this tab’s worker', { held: true });
  const speech = heldQuestion();
  await send(first, speech);
  await second.getByText('I am the offline').first().waitFor();
  await second.getByRole('button', { name: 'New conversation' }).click();
  await second.getByRole('heading', { name: /Ask something/ }).waitFor();
  await release(speech);
  await expect.poll(() => lastAnswer(first)).toContain('top of the page');
  await ask(second, 'What is 6 * 7?');
  await first.reload();
  await shows([first], ['What is 1 + 1?', speech]);
  await second.reload();
  await shows([second], ['What is 6 * 7?']);
  const third = await openTab(first.context(), problems);
  await third.getByRole('article').first().waitFor();
  expect(problems).toEqual([]);
});

test('At the edge: a page that gets the focus shows messages of another browser', async () => {
  const { page } = await openDemo();
  await goHome(page, 'At the edge');
  await ask(page, 'What is 6 * 7?');
  const settings = await page.evaluate(() => JSON.stringify(localStorage));
  // Another browser shares no storage with the first browser, only the edge.
  const context = await newContext();
  await context.addInitScript(
    (stored) => Object.assign(localStorage, JSON.parse(stored)),
    settings,
  );
  const other = await openTab(context);
  await ask(other, 'What is 5 * 5?');
  expect(await questions(page).count()).toBe(1);
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await expect.poll(() => lastAnswer(page)).toContain('5 * 5 = 25.');
  await chooseHeldModel(other, 'At the edge');
  const speech = heldQuestion();
  await send(other, speech);
  await other.getByText('I am the offline').first().waitFor();
  await page.evaluate(() => window.dispatchEvent(new Event('focus')));
  await page.getByText('I am the offline').first().waitFor();
  await release(speech);
  await timeline(page).getByText('Ended: stop').nth(1).waitFor();
  expect(await lastAnswer(page)).toContain('top of the page');
  await shows([page, other], ['What is 6 * 7?', 'What is 5 * 5?', speech]);
});

test('tabs of one conversation use the same model, and none of them stores its key', async () => {
  const { first, second, problems } = await openTwo('In this tab’s worker');
  const model = (page: Page) => page.getByRole('button', { name: 'Model: test-model' });
  await chooseModel(second, /OpenAI-compatible/, {
    baseURL: `${inject('providerUrl')}/deltas/3/v1`,
    key: 'sk-secret',
  });
  const third = await openTab(first.context(), problems);
  for (const page of [first, second, third]) await model(page).waitFor();
  for (const [index, page] of [first, second, third].entries()) {
    await ask(page, 'Hello?');
    for (const each of [first, second, third])
      await expect.poll(() => answers(each).count()).toBe(index + 2);
    expect(await lastAnswer(page)).not.toContain('I am the offline');
  }
  expect(
    await first.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])),
  ).not.toContain('sk-secret');
  await first.getByRole('button', { name: 'New conversation' }).click();
  await chooseModel(first, /Offline stand-in/);
  await ask(second, 'Hello?');
  await model(second).waitFor();
  expect(await lastAnswer(second)).not.toContain('I am the offline');
  expect(problems).toEqual([]);
});
