import type { FrameLocator, JSHandle, Page } from 'playwright';
import { expect, inject, test } from 'vitest';
import { chooseHeldModel, heldAfterTools, release } from './held-answer.ts';
import { answers, atRest, goHome, openDemo, questions, send, timeline } from './open-demo.ts';

const cities = ['Tokyo', 'Paris', 'Cairo'];
const times = `What time is it in ${cities.join(', ')}?`;
const question = `${times} And how do you survive a killed worker?`;
const lastWords = 'Otherwise a person decides.';

function answer(page: Page | FrameLocator, words: string) {
  return page.getByRole('article', { name: 'Assistant' }).getByText(words);
}

function tools(page: Page, state: string) {
  return page.getByRole('group', { name: `Tool time_in_city, ${state}` });
}

async function count(page: Page, name: string): Promise<string> {
  const term = page.getByLabel('Session log', { exact: true }).getByText(name, { exact: true });
  return term.locator('xpath=following-sibling::dd').innerText();
}

/** Collects what the page shows between a kill and the answer, while tools look as running. */
function watchAfterKill(page: Page): Promise<JSHandle<Set<string>>> {
  return page.evaluateHandle(() => {
    const states = new Set<string>();
    new MutationObserver(() => {
      const text = document.body.textContent;
      if (!text.includes('Worker killed')) return;
      const button = document.querySelector('.field button')!.textContent;
      const isContinued = text.includes('Run continued');
      const isRunning = document.querySelector('.tool.input-available') !== null;
      if (isRunning) states.add(`${isContinued ? 'continued' : 'waiting'}: ${button}`);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
    return states;
  });
}

/** Keeps the tools of the page's next worker from ending, so that a test can kill it meanwhile. */
async function holdTools(page: Page): Promise<void> {
  const hold = `{
    const later = globalThis.setTimeout;
    const isTool = (ms) => ms >= 1000 && ms <= 3000;
    globalThis.setTimeout = (run, ms, ...rest) => isTool(ms) ? 0 : later(run, ms, ...rest);
  }\n`;
  await page.route(
    /agent\.worker/,
    async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: hold + (await response.text()) });
    },
    { times: 1 },
  );
}

test('a worker killed while tools run: a new worker continues the answer, and the page never looks idle', async () => {
  const { page, problems } = await openDemo();
  await holdTools(page);
  await page.reload();
  // At the pace of a real model, a tool takes a second or more.
  await page.getByLabel('As slow as a model').check();
  await send(page, times);
  await tools(page, 'running').nth(2).waitFor();
  const seen = await watchAfterKill(page);
  await kill(page, times);
  await showsWholeAnswer(page, 'In Cairo it is');
  const states = await seen.evaluate((each) => [...each]);
  expect(states[0]).toBe('waiting: Stop');
  expect(states.filter((state) => !state.endsWith(': Stop'))).toEqual([]);
  expect(problems).toEqual([]);
});

test('a worker killed while the answer streams: a new worker continues the answer, and no finished tool runs twice', async () => {
  const { page, problems } = await openDemo();
  await chooseHeldModel(page, 'In this tab’s worker');
  const held = heldAfterTools(question);
  await send(page, held);
  await answer(page, 'In Tokyo it is').waitFor();
  await kill(page, held);
  await hasContinued(page);
  await release(held);
  await showsWholeAnswer(page);
  await expect.poll(() => count(page, 'tools run')).toBe('3');
  expect(problems).toEqual([]);
});

async function kill(page: Page, asked: string): Promise<void> {
  await page.getByRole('button', { name: 'Kill the worker' }).click();
  await page.getByText('Worker 2 of this tab').waitFor();
  // The page keeps showing the conversation while the new worker loads it.
  expect(await questions(page).allInnerTexts()).toEqual([asked]);
}

/** Waits for the run of the new host. Before, the answer could still end in the killed one. */
async function hasContinued(page: Page): Promise<void> {
  await timeline(page).getByText('Run continued').waitFor({ state: 'attached' });
}

async function showsWholeAnswer(page: Page, end = lastWords): Promise<void> {
  await answer(page, end).waitFor();
  await atRest(page);
  expect(await tools(page, 'done').count()).toBe(cities.length);
  for (const city of cities)
    expect(await answers(page).last().innerText()).toContain(`In ${city} it is`);
  expect(await timeline(page).getByText('Worker killed').count()).toBe(1);
  expect(await timeline(page).getByText('Run continued').count()).toBe(1);
  await expect.poll(() => count(page, 'workers killed')).toBe('1');
  expect(await count(page, 'tools that ran twice')).toBe('0');
}

test('a Durable Object killed during an answer: a new one continues it, and no finished tool runs twice', async () => {
  const { page, problems } = await openDemo();
  await goHome(page, 'At the edge');
  await chooseHeldModel(page, 'At the edge');
  const held = heldAfterTools(question);
  await send(page, held);
  await answer(page, 'In Tokyo it is').waitFor();
  await page.getByRole('button', { name: 'Kill the edge' }).click();
  await page.getByText('Durable Object 2 at the edge').waitFor();
  await hasContinued(page);
  await release(held);
  await answer(page, lastWords).waitFor();
  await atRest(page);
  expect(await tools(page, 'done').count()).toBe(cities.length);
  expect(await timeline(page).getByText('Durable Object killed').count()).toBe(1);
  expect(await timeline(page).getByText('Run continued').count()).toBe(1);
  expect(await page.locator('.row.continued').count()).toBe(1);
  await expect.poll(() => count(page, 'tools run')).toBe('3');
  expect(await count(page, 'objects killed')).toBe('1');
  expect(await count(page, 'tools that ran twice')).toBe('0');
  // The browser reports the connection that broke with the object.
  expect(problems.filter((problem) => !problem.includes('net::ERR_'))).toEqual([]);
});

test('only the page itself can kill a session at the edge', async () => {
  const route = `${inject('demoUrl')}/api/demo/some-session/kill`;
  const foreign = { method: 'POST', headers: { origin: 'https://other.test' } };
  expect((await fetch(route, foreign)).status).toBe(403);
  expect((await fetch(route)).status).toBe(403);
});

/**
 * Opens two tabs in the page. The first tab runs the agent: the second tab loads when the first
 * one has its place in the queue of leaders. Otherwise, the faster tab would run the agent.
 */
async function openTabs(page: Page): Promise<Record<'first' | 'second', FrameLocator>> {
  const [first, second] = ['Tab A', 'Tab B'].map((name) =>
    page.frameLocator(`iframe[title="${name}"]`),
  ) as [FrameLocator, FrameLocator];
  const isLoaded = (tab: FrameLocator): Promise<void> =>
    tab.getByRole('heading', { name: /Ask something/ }).waitFor();
  await page.route(
    /[?&]frame=B/,
    async (route) => {
      await isLoaded(first);
      await route.continue();
    },
    { times: 1 },
  );
  await page.getByRole('button', { name: 'Two tabs' }).click();
  await isLoaded(second);
  return { first, second };
}

test('two tabs in one page: when the tab that runs the agent closes, the other one continues', async () => {
  const { page, problems } = await openDemo();
  await chooseHeldModel(page, 'In this tab’s worker');
  const { first, second } = await openTabs(page);
  const held = heldAfterTools(question);
  await first.getByLabel('Your message').fill(held);
  await first.getByLabel('Your message').press('Enter');
  await answer(second, 'In Tokyo it is').waitFor();
  await page.getByRole('button', { name: 'Close tab A' }).click();
  // The worker of a closed tab lives for another moment, so that the answer could still end in it.
  await timeline(second)
    .getByText(/Step started over/)
    .waitFor({ state: 'attached' });
  await release(held);
  await answer(second, lastWords).waitFor();
  expect(await second.getByRole('group', { name: /^Tool time_in_city, done/ }).count()).toBe(3);
  await page.getByRole('button', { name: 'Back to one tab' }).click();
  await answer(page, lastWords).waitFor();
  await expect.poll(() => count(page, 'tools run')).toBe('3');
  expect(await count(page, 'tools that ran twice')).toBe('0');
  expect(problems).toEqual([]);
});

test('a person changes the arguments of a payment before allowing it', async () => {
  const { page } = await openDemo();
  await page.getByRole('button', { name: 'Pay 30 coins to Alice' }).click();
  await answers(page).last().getByRole('button', { name: 'Edit' }).click();
  // Beside an open form, this button would pay the old amount.
  expect(await page.getByRole('button', { name: 'Allow', exact: true }).count()).toBe(0);
  await page.getByLabel('coins').fill('25');
  await page.getByRole('button', { name: 'Allow with changes' }).click();
  await expect
    .poll(() => answers(page).last().innerText())
    .toContain('Paid 25 coins to Alice. 75 are left.');
});
